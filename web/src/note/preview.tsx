// The note as it reads: Markdown, links, and what is suggested.

import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Fragment, jsx, jsxs } from "preact/jsx-runtime";
import { counted } from "../shell/age";
import { notes } from "../shell/notes";
import { frontmatterEnd } from "./frontmatter";
import { parse, signed, signedWords } from "./markdown";
import type { Mark } from "./marks";
import { addressOf, aimed, noteOf, resolve } from "./wiki";

const AT_ONCE = 60_000; // characters; more only when somebody asks, as it takes seconds

interface Properties {
  path: string;
  text: string;
  marks: readonly Mark[];
}

export default function Preview({ path, text, marks }: Properties) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > AT_ONCE;
  void notes.value; // links lead elsewhere when notes come and go
  const shown = useMemo(() => {
    const end = isCut ? text.lastIndexOf("\n", AT_ONCE) + 1 || AT_ONCE : text.length;
    const begin = Math.min(frontmatterEnd(text), end);
    const whole = signed(text.slice(0, end), marks.filter((mark) => mark.to <= end && (mark.from >= begin || mark.to <= begin)));
    const head = frontmatterEnd(whole);
    return (
      <>
        {head > 0 && <Frontmatter text={whole.slice(0, head)} />}
        {drawn(whole.slice(head), path)}
      </>
    );
  }, [text, marks, path, isCut, notes.value]);
  return (
    <article class="preview" aria-label="Preview">
      {shown}
      {!text.trim() && <p class="muted">The note is empty.</p>}
      {isCut && (
        <p class="preview-cut">
          The first {counted(AT_ONCE, "character")} of {counted(text.length, "character")}.{" "}
          <button type="button" onClick={() => setWhole(true)}>
            Show all
          </button>
        </p>
      )}
    </article>
  );
}

/** What a note says of itself, as it is written; what is suggested in it is marked as elsewhere. */
function Frontmatter({ text }: { text: string }) {
  const words = text.replace(/^---[ \t]*\n|\n?---[ \t]*\n?$/g, "");
  if (!words.trim()) return null;
  return (
    <pre class="frontmatter" aria-label="About this note" tabIndex={0}>
      {signedWords(words).map(({ kind, text: part }, at) => {
        const Tag = kind === "deleted" ? "del" : kind === "inserted" ? "ins" : "span";
        return <Tag key={at}>{part}</Tag>;
      })}
    </pre>
  );
}

/** Markdown with signs (see `markdown`) as elements; `own` are drawn in another way. */
export function drawn(text: string, path: string, own: Record<string, (given: Given) => JSX.Element> = {}): JSX.Element {
  return toJsxRuntime(parse(text), {
    Fragment,
    jsx: jsx as never,
    jsxs: jsxs as never,
    components: { ...components(path), ...own } as never,
    elementAttributeNameCase: "html",
  }) as JSX.Element;
}

export type Given = { children?: ComponentChildren } & Record<string, unknown>;

function components(path: string) {
  // The page has a heading of its own, so those of the note come below it.
  const heading = (level: number) => (given: Given) => {
    const Tag = `h${Math.min(level + 1, 6)}` as "h2";
    return <Tag class={`heading-${level}`}>{given.children}</Tag>;
  };
  return {
    a: (given: Given) => anchor(given, path),
    span: (given: Given) => special(given, path),
    h1: heading(1),
    h2: heading(2),
    h3: heading(3),
    h4: heading(4),
    h5: heading(5),
    h6: heading(6),
    pre: ({ children }: Given) => <pre tabIndex={0}>{children}</pre>,
    table: ({ children }: Given) => (
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Table">
        <table>{children}</table>
      </div>
    ),
  };
}

function anchor({ href, children, id }: Given, path: string) {
  if (typeof href !== "string") return <span>{children}</span>;
  if (href.startsWith("#")) return <span id={typeof id === "string" ? id : undefined}>{children}</span>;
  const aim = aimed(href);
  if (!aim) return <span>{children}</span>;
  if (aim.address) {
    return (
      <a href={aim.address} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    );
  }
  const note = noteOf(aim, path);
  return note ? <a href={addressOf(note, aim.target ?? "")}>{children}</a> : <span class="unresolved">{children}</span>;
}

const INLINE_PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[a-z0-9+/=\s]+$/i;

function special(given: Given, path: string) {
  const kind = String(given["class"] ?? given["className"] ?? "");
  if (kind === "wikilink") {
    const target = String(given["data-target"] ?? "");
    const note = resolve(target, path);
    if (note) return <a href={addressOf(note, target)}>{given.children}</a>;
    return (
      <span class="unresolved" title="There is no such note yet">
        {given.children}
      </span>
    );
  }
  if (kind === "picture") {
    const source = String(given["data-source"] ?? "");
    const told = textOf(given.children);
    if (INLINE_PICTURE.test(source)) return <img src={source} alt={told} />;
    return (
      <span class="picture-instead" title="Pictures from elsewhere are not loaded">
        {told || "Picture"} {source && !source.startsWith("data:") && <code>{source.slice(0, 300)}</code>}
      </span>
    );
  }
  if (kind === "task") {
    const isDone = given["data-done"] === "true";
    return (
      <span class="task-box" role="img" aria-label={isDone ? "Done:" : "To do:"}>
        {isDone ? "☑" : "☐"}
      </span>
    );
  }
  return <span>{given.children}</span>;
}

function textOf(children: ComponentChildren): string {
  if (Array.isArray(children)) return children.map(textOf).join("");
  return typeof children === "string" ? children : "";
}
