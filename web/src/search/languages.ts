// Which parser colours a file; each is loaded when the first file of its language is opened.

import type { Parser } from "@lezer/common";

type Load = () => Promise<Parser>;

const javascript = (dialect: string): Load => async () => (await import("@lezer/javascript")).parser.configure({ dialect });
const cpp: Load = async () => (await import("@lezer/cpp")).parser;
const markdown: Load = async () => {
  const { parser, GFM } = await import("@lezer/markdown");
  return parser.configure(GFM);
};
const html: Load = async () => {
  const [html, js, css] = await Promise.all([import("@lezer/html"), import("@lezer/javascript"), import("@lezer/css")]);
  const nested = [
    { tag: "script", parser: js.parser },
    { tag: "style", parser: css.parser },
  ];
  return html.parser.configure({ wrap: html.configureNesting(nested) });
};

const BY_ENDING: [string, Load][] = [
  ["js mjs cjs jsx", javascript("jsx")],
  ["ts mts cts", javascript("ts")],
  ["tsx", javascript("jsx ts")],
  ["py pyi pyw", async () => (await import("@lezer/python")).parser],
  ["c h cc cpp cxx hpp hh hxx inl ino cu cuh", cpp],
  ["java", async () => (await import("@lezer/java")).parser],
  ["json jsonl ipynb webmanifest", async () => (await import("@lezer/json")).parser],
  ["css scss less", async () => (await import("@lezer/css")).parser],
  ["html htm xhtml svg vue svelte xml", html],
  ["rs", async () => (await import("@lezer/rust")).parser],
  ["go", async () => (await import("@lezer/go")).parser],
  ["php phtml", async () => (await import("@lezer/php")).parser],
  ["yml yaml", async () => (await import("@lezer/yaml")).parser],
  ["md markdown mdx", markdown],
];

const LOADS = new Map(BY_ENDING.flatMap(([endings, load]) => endings.split(" ").map((ending): [string, Load] => [ending, load])));

export async function parserOf(path: string): Promise<Parser | null> {
  const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase();
  const load = ending === undefined ? undefined : LOADS.get(ending);
  return load ? await load() : null;
}
