// Which grammar colours a file; each is loaded when the first file of its language is opened.

import type { Parser } from "@lezer/common";
import type { Closing, Painting } from "./colours";
import { GrammarPainting } from "./colours";
import type { AnyMode } from "./line_modes";
import { ModePainting } from "./line_modes";

type Load = () => Promise<Painting>;

const grammar =
  (load: () => Promise<Parser>, closing: Closing = () => ""): Load =>
  async () =>
    new GrammarPainting(await load(), closing);

const mode =
  (load: () => Promise<unknown>): Load =>
  async () =>
    new ModePainting((await load()) as AnyMode);

/** The end of a heredoc, if the last one that a text begins is still open. */
function heredocEnd(text: string): string {
  const begun = text.lastIndexOf("<<<");
  const name = begun < 0 ? undefined : /^<<<\s*["']?(\w+)/.exec(text.slice(begun, begun + 100))?.[1];
  return name ? `\n${name};\n` : "";
}

const javascript = (dialect: string): Load => grammar(async () => (await import("@lezer/javascript")).parser.configure({ dialect }));

const markdown = grammar(async () => {
  const { parser, GFM } = await import("@lezer/markdown");
  return parser.configure(GFM);
});

const html = grammar(async () => {
  const [html, js, css] = await Promise.all([import("@lezer/html"), import("@lezer/javascript"), import("@lezer/css")]);
  const nested = [
    { tag: "script", parser: js.parser },
    { tag: "style", parser: css.parser },
  ];
  return html.parser.configure({ wrap: html.configureNesting(nested) });
});

const clike = (name: "csharp" | "dart" | "kotlin" | "objectiveC" | "scala"): Load =>
  mode(async () => (await import("@codemirror/legacy-modes/mode/clike"))[name]);

const BY_ENDING: [string, Load][] = [
  ["js mjs cjs jsx", javascript("jsx")],
  ["ts mts cts", javascript("ts")],
  ["tsx", javascript("jsx ts")],
  ["py pyi pyw", grammar(async () => (await import("@lezer/python")).parser)],
  ["c h cc cpp cxx hpp hh hxx inl ino cu cuh", grammar(async () => (await import("@lezer/cpp")).parser)],
  ["java", grammar(async () => (await import("@lezer/java")).parser, () => '*/"""')],
  ["json jsonl ipynb webmanifest", grammar(async () => (await import("@lezer/json")).parser)],
  ["css scss less", grammar(async () => (await import("@lezer/css")).parser)],
  ["html htm xhtml svg vue svelte xml", html],
  ["rs", grammar(async () => (await import("@lezer/rust")).parser, () => '"#####')],
  ["go", grammar(async () => (await import("@lezer/go")).parser, () => "`")],
  ["php phtml", grammar(async () => (await import("@lezer/php")).parser, (text) => `*/${heredocEnd(text)}`)],
  ["yml yaml", grammar(async () => (await import("@lezer/yaml")).parser)],
  ["md markdown mdx", markdown],
  ["sh bash zsh bashrc zshrc profile", mode(async () => (await import("@codemirror/legacy-modes/mode/shell")).shell)],
  ["toml", mode(async () => (await import("@codemirror/legacy-modes/mode/toml")).toml)],
  ["ini cfg conf properties env", mode(async () => (await import("@codemirror/legacy-modes/mode/properties")).properties)],
  ["rb gemspec rake", mode(async () => (await import("@codemirror/legacy-modes/mode/ruby")).ruby)],
  ["pl pm", mode(async () => (await import("@codemirror/legacy-modes/mode/perl")).perl)],
  ["lua", mode(async () => (await import("@codemirror/legacy-modes/mode/lua")).lua)],
  ["sql psql", mode(async () => (await import("@codemirror/legacy-modes/mode/sql")).standardSQL)],
  ["swift", mode(async () => (await import("@codemirror/legacy-modes/mode/swift")).swift)],
  ["kt kts", clike("kotlin")],
  ["scala sbt", clike("scala")],
  ["cs", clike("csharp")],
  ["dart", clike("dart")],
  ["m", clike("objectiveC")],
  ["hs", mode(async () => (await import("@codemirror/legacy-modes/mode/haskell")).haskell)],
  ["ps1 psm1", mode(async () => (await import("@codemirror/legacy-modes/mode/powershell")).powerShell)],
  ["proto", mode(async () => (await import("@codemirror/legacy-modes/mode/protobuf")).protobuf)],
  ["r", mode(async () => (await import("@codemirror/legacy-modes/mode/r")).r)],
  ["jl", mode(async () => (await import("@codemirror/legacy-modes/mode/julia")).julia)],
  ["cmake", mode(async () => (await import("@codemirror/legacy-modes/mode/cmake")).cmake)],
  ["diff patch", mode(async () => (await import("@codemirror/legacy-modes/mode/diff")).diff)],
  ["dockerfile", mode(async () => (await import("@codemirror/legacy-modes/mode/dockerfile")).dockerFile)],
];

const BY_NAME: Record<string, string> = {
  dockerfile: "dockerfile",
  "cmakelists.txt": "cmake",
  gemfile: "rb",
  rakefile: "rb",
  "go.mod": "go",
};

const LOADS = new Map(BY_ENDING.flatMap(([endings, load]) => endings.split(" ").map((ending): [string, Load] => [ending, load])));

/** A new painting of a file; null where the language is not known. */
export async function paintingOf(path: string): Promise<Painting | null> {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const ending = BY_NAME[name] ?? /\.([^.]+)$/.exec(name)?.[1];
  const load = ending === undefined ? undefined : LOADS.get(ending);
  return load ? await load() : null;
}
