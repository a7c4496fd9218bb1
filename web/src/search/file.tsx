// A file of the workspace: /file/PATH#L120 or #L120-L130, with ?pattern=… kept marked.

import { useEffect, useMemo, useState } from "preact/hooks";
import { counted } from "../shell/age";
import { useShortcuts } from "../shell/keys";
import { navigate, place } from "../shell/router";
import { complain, say } from "../shell/toast";
import { visible, visibleText } from "../shell/visible";
import { shown } from "./answer";
import type { Range } from "./code";
import { Code } from "./code";
import { Contents } from "./contents";
import { matches, useMatches } from "./matches";
import { address, question } from "./question";
import { remembered, remember } from "./taste";

// A box of more lines than this would be higher than browsers can make one.
const CHAPTER = 400_000;

export default function Page() {
  const { path, query } = place.value;
  const file = path.slice("/file/".length);
  const pattern = query.get("pattern") ?? "";
  useMatches(file, pattern, query.get("i") === "1", query.get("m") === "1");
  return <FilePage key={file} path={file} pattern={pattern} />;
}

function FilePage({ path, pattern }: { path: string; pattern: string }) {
  const contents = useMemo(() => new Contents(path), [path]);
  useEffect(() => {
    document.title = `${visibleText(path.slice(path.lastIndexOf("/") + 1))} · flashgrep`;
    return () => contents.end();
  }, [contents]);
  const chosen = chosenLines(place.value.hash);
  const [reveal, setReveal] = useState<{ line: number } | null>(chosen ? { line: chosen.first } : null);
  const [own, setOwn] = useState(place.value.hash); // the hash that this page wrote itself
  const [doesWrap, setWraps] = useState(() => remembered("wrap", innerWidth < 700 ? "1" : "0") === "1");
  const [tab, setTab] = useState(() => Number(remembered("tab", "4")));
  const total = contents.total.value;
  const failure = contents.failure.value;

  useEffect(() => {
    contents.want(chosen?.first ?? 1, chosen?.first ?? 1);
  }, [contents]);
  useEffect(() => {
    const lines = chosenLines(place.value.hash);
    if (place.value.hash !== own && lines) setReveal({ line: lines.first });
  }, [place.value.hash]);

  const choose = (range: Range | null, isSeen: boolean) => {
    const hash = !range ? "" : range.first === range.last ? `L${range.first}` : `L${range.first}-L${range.last}`;
    setOwn(hash);
    navigate(`${location.pathname}${location.search}${hash ? `#${hash}` : ""}`, { replace: true });
    if (!isSeen && range) setReveal({ line: range.first });
  };
  const onChoose = (line: number, isRange: boolean) => {
    const from = chosenLines(location.hash.slice(1));
    if (isRange && from) choose({ first: Math.min(from.first, line), last: Math.max(from.first, line) }, true);
    else choose({ first: line, last: line }, true);
  };
  const goMatch = (by: 1 | -1) => {
    const lines = matches.value.lines;
    const here = chosen?.first ?? 0;
    const next = by > 0 ? lines.find((line) => line > here) : lines.findLast((line) => line < here);
    if (next !== undefined) choose({ first: next, last: next }, false);
  };
  const back = shown.value ? address(question.value) : pattern ? address({ ...question.value, tab: "search", text: pattern }) : "/";
  useShortcuts("File", [
    { keys: ["n"], does: "Next match", run: () => goMatch(1) },
    { keys: ["Shift+N", "p"], does: "Previous match", run: () => goMatch(-1) },
    { keys: ["l"], does: "Go to a line", run: () => document.getElementById("file-line")?.focus() },
    { keys: ["w"], does: "Wrap long lines or not", run: () => wrap(!doesWrap) },
    { keys: ["y"], does: "Copy a link to the lines", run: () => copyLink() },
    { keys: ["Escape"], does: "Back to the results", run: () => navigate(back) },
  ]);
  const wrap = (does: boolean) => {
    setWraps(does);
    remember("wrap", does ? "1" : "0");
    setReveal(chosen ? { line: chosen.first } : null);
  };

  if (failure !== null && total === null) {
    return (
      <div class="file">
        <Head path={path} />
        <div class="empty" role="alert">
          <p>{visible(failure)}</p>
          <p>
            <a href={back}>Back to the search</a>
          </p>
        </div>
      </div>
    );
  }
  const aim = reveal?.line ?? chosen?.first ?? 1;
  const [from, setFrom] = [chapter(total, aim), (line: number) => setReveal({ line })];
  const to = total === null ? from : Math.min(from + CHAPTER - 1, total);
  return (
    <div class="file">
      <Head path={path} />
      <div class="file-tools" role="group" aria-label="File">
        {(shown.value || pattern) && <a href={back}>← Back to results</a>}
        <span class="muted file-total">{total === null ? "Loading…" : contents.isOpen.value ? `more than ${total.toLocaleString("en")} lines` : counted(total, "line")}</span>
        {total !== null && total >= contents.plainFrom.value && (
          <span class="muted" title="To know what a line is, all lines above are looked at: here they are too many, or too long.">
            no colours from line {contents.plainFrom.value.toLocaleString("en")} on
          </span>
        )}
        {matches.value.lines.length > 0 && <MatchSteps line={chosen?.first ?? 0} onStep={goMatch} />}
        <LineField total={total} onGo={(range) => choose(range, false)} />
        <label class="check">
          <input type="checkbox" checked={doesWrap} onChange={(event) => wrap(event.currentTarget.checked)} />
          Wrap
        </label>
        <label class="option">
          <span>Tab</span>
          <select
            value={tab}
            onChange={(event) => {
              setTab(Number(event.currentTarget.value));
              remember("tab", event.currentTarget.value);
            }}
          >
            <option value={2}>2</option>
            <option value={4}>4</option>
            <option value={8}>8</option>
          </select>
        </label>
        <button type="button" onClick={() => void copy(path, "The path is copied.")}>
          Copy path
        </button>
        <button type="button" onClick={copyLink}>
          Copy link
        </button>
      </div>
      {failure !== null && (
        <p class="search-problem" role="alert">
          {visible(failure)}{" "}
          <button type="button" class="link-button" onClick={() => contents.again()}>
            Try again
          </button>
        </p>
      )}
      {total === 0 && <p class="empty muted">The file is empty.</p>}
      {from > 1 && <Chapter first={Math.max(from - CHAPTER, 1)} last={from - 1} onGo={() => setFrom(from - 1)} />}
      {total !== null && total > 0 && (
        <Code
          key={from}
          contents={contents}
          from={from}
          to={to}
          chosen={chosen}
          reveal={reveal}
          doesWrap={doesWrap}
          tab={tab}
          label={`Lines of ${visibleText(path)}`}
          onChoose={onChoose}
        />
      )}
      {total !== null && to < total && <Chapter first={to + 1} last={Math.min(to + CHAPTER, total)} onGo={() => setFrom(to + 1)} />}
    </div>
  );
}

/** The first line of the part of the file that holds a line. */
function chapter(total: number | null, line: number): number {
  if (total === null || total <= CHAPTER) return 1;
  const within = Math.min(Math.max(line, 1), total);
  return within - ((within - 1) % CHAPTER);
}

export function chosenLines(hash: string): Range | null {
  const parts = /^L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(hash);
  if (!parts) return null;
  const one = Math.max(Number(parts[1]), 1);
  const other = Math.max(Number(parts[2] ?? one), 1);
  return { first: Math.min(one, other), last: Math.max(one, other) };
}

/** The path, each folder a way to search in it. */
function Head({ path }: { path: string }) {
  const parts = path.split("/");
  return (
    <nav aria-label="Path" class="crumbs">
      <ol>
        {parts.map((name, at) =>
          at === parts.length - 1 ? (
            <li key={at}>
              <h1>
                <bdi>{visible(name)}</bdi>
              </h1>
            </li>
          ) : (
            name && (
              <li key={at}>
                <a href={folderAddress(parts.slice(0, at + 1).join("/"))} title={`Search in ${visibleText(parts.slice(0, at + 1).join("/"))}`}>
                  <bdi>{visible(name)}</bdi>
                </a>
              </li>
            )
          ),
        )}
      </ol>
    </nav>
  );
}

function folderAddress(path: string): string {
  return address({ ...question.value, tab: "search", where: "workspace", path });
}

function Chapter({ first, last, onGo }: { first: number; last: number; onGo: () => void }) {
  return (
    <p class="chapter">
      <button type="button" onClick={onGo}>
        Lines {first.toLocaleString("en")} to {last.toLocaleString("en")}
      </button>
    </p>
  );
}

function MatchSteps({ line, onStep }: { line: number; onStep: (by: 1 | -1) => void }) {
  const { lines, isWhole } = matches.value;
  const at = lines.indexOf(line);
  const all = `${lines.length.toLocaleString("en")}${isWhole ? "" : "+"}`;
  return (
    <span class="match-steps">
      <button type="button" class="icon-button" aria-label="Previous match" title="p" onClick={() => onStep(-1)}>
        ↑
      </button>
      <span aria-live="polite">{at >= 0 ? `${at + 1} of ${all}` : counted(lines.length, "matching line")}</span>
      <button type="button" class="icon-button" aria-label="Next match" title="n" onClick={() => onStep(1)}>
        ↓
      </button>
    </span>
  );
}

function LineField({ total, onGo }: { total: number | null; onGo: (range: Range) => void }) {
  const [isWrong, setWrong] = useState(false);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.elements.namedItem("line") as HTMLInputElement;
        const range = chosenLines(`L${field.value.trim().replace(/\s*[-–]\s*/, "-")}`);
        setWrong(!range);
        if (!range) return;
        const most = total ?? range.last;
        onGo({ first: Math.min(range.first, most), last: Math.min(range.last, most) });
        field.blur();
        document.querySelector<HTMLElement>(".code")?.focus();
      }}
    >
      <label class="option">
        <span>Line</span>
        <input id="file-line" name="line" type="text" inputMode="numeric" placeholder="120" autocomplete="off" aria-invalid={isWrong} />
      </label>
    </form>
  );
}

function copyLink(): void {
  void copy(location.href, "The link is copied.");
}

async function copy(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    complain("The browser does not let this page copy. Copy it from the address bar instead.");
  }
}
