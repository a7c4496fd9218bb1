// The editor with what is around it: title and state above, preview and panel beside it.

import type { EditorView, ViewUpdate } from "@codemirror/view";
import { EditorView as View } from "@codemirror/view";
import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { inUrl, told } from "../shell/api";
import { useShortcuts } from "../shell/keys";
import { notes } from "../shell/notes";
import { navigate, place } from "../shell/router";
import { session } from "../shell/session";
import { complain, say } from "../shell/toast";
import { noteName } from "../shell/tree";
import type { About, Comment } from "./comments";
import { CommentsPanel, useComments } from "./comments";
import type { CardActions } from "./decide";
import { card, decide, EditSuggestion } from "./decide";
import { allowWriting, makeEditor, notesChanged } from "./editor";
import { asPath, createNote, DeleteNote, MoveNoteDialog } from "./filing";
import { HistoryPanel } from "./history";
import { LinksPanel } from "./links";
import type { LiveNote } from "./live";
import type { Suggestion } from "./marked";
import { decideHere, goTo, placeOf, records, setRecords, suggestionAt, suggestionsIn, toSuggestion } from "./marked";
import type { Mark } from "./marks";
import { markAt } from "./marks";
import type { Heading } from "./outline";
import { headingsOf, Outline } from "./outline";
import { Panel } from "./panel";
import { PendingPanel } from "./pending";
import { mayDo, mayOn, whyNot } from "./rights";
import type { Gone } from "./status";
import { Banner, capital, LeftOver, People, SaveState } from "./status";
import type { Aim } from "./wiki";
import { addressOf, knowingNotes, noteOf } from "./wiki";

type Mode = "edit" | "preview" | "both";
const MODES: [Mode, string][] = [
  ["edit", "Edit"],
  ["preview", "Preview"],
  ["both", "Side by side"],
];
const REMEMBERED = "flashgrep.note.mode";
const LOOK_AFTER = 250; // milliseconds after a change until panel and preview follow…
const LONG = 200_000; // …and later in a note of so many characters

interface Looked {
  text: string;
  headings: Heading[];
  suggestions: Suggestion[];
  marks: Mark[];
  /** How many suggestions there are, whether they are listed or not. */
  count: number;
  /** The ids of the comments in it. */
  comments: string;
}

const NOTHING: Looked = { text: "", headings: [], suggestions: [], marks: [], count: 0, comments: "" };

/** The list from before where nothing in it has changed: then nothing is drawn again. */
function same(before: Heading[], now: Heading[]): Heading[] {
  const isSame =
    before.length === now.length &&
    before.every((one, at) => one.at === now[at]!.at && one.text === now[at]!.text && one.level === now[at]!.level);
  return isSame ? before : now;
}

interface Properties {
  live: LiveNote;
  gone: Gone | null;
  onMoved: (path: string) => void;
  onReload: () => void;
}

export function Workbench({ live, gone, onMoved, onReload }: Properties) {
  const path = live.path.value;
  const mayWrite = mayOn("write", path) && live.closed.value !== "forbidden" && !gone;
  const mayComment = mayOn("suggest", path);
  const [mode, setMode] = useState<Mode>(remembered);
  const [tab, setTab] = useState("outline");
  const [looked, setLooked] = useState<Looked>(NOTHING);
  const [editing, setEditing] = useState<Suggestion | null>(null);
  const [about, setAbout] = useState<About | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const [dialog, setDialog] = useState<"move" | "delete" | null>(null);
  const view = useRef<EditorView | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const comments = useComments(path, looked.comments);

  // ── the editor ────────────────────────────────────────────────────────────────────────────

  const actions = useMemo((): CardActions => {
    const settleAnd = (work: () => Promise<boolean>) => void live.settled().then(work);
    return {
      mayDecide: mayWrite,
      reason: mayWrite ? "" : whyNot("write", path, "decide on suggestions"),
      mayComment,
      accept: (one) => settleAnd(() => decide(one, "accept")),
      reject: (one) => settleAnd(() => decide(one, "reject")),
      edit: setEditing,
      comment: (one) => {
        setAbout({ suggestion: one.id, quote: one.new || one.old });
        setTab("comments");
      },
    };
  }, [mayWrite, mayComment, path]);
  const current = useRef(actions);
  current.current = actions;

  const comment = () => {
    const editor = view.current;
    if (!editor) return;
    if (!mayOn("suggest", live.path.peek())) return complain(whyNot("suggest", live.path.peek(), "comment"));
    const { main } = editor.state.selection;
    // Marks cannot nest: what is selected in a suggestion is commented on with it.
    const suggestion = suggestionAt(editor.state, main.from, main.to);
    if (suggestion) return current.current.comment(suggestion);
    if (main.empty) return say("Select the passage to comment on first.");
    setAbout({ passage: live.passage(main.from, main.to), quote: editor.state.sliceDoc(main.from, main.to) });
    setTab("comments");
  };

  const follow = async (aim: Aim) => {
    if (aim.address) {
      window.open(aim.address, "_blank", "noopener,noreferrer");
      return;
    }
    await knowingNotes();
    const from = live.path.peek();
    const note = noteOf(aim, from);
    if (note === from) goToHeading(aim.target?.split("#")[1] ?? "");
    else if (note) navigate(addressOf(note, aim.target ?? ""));
    else if (aim.target !== null) navigate(`/notes/${inUrl(asPath(aim.target.split("#")[0]!))}`);
  };

  // Only what is shown is worked out: a long note has thousands of headings and marks.
  const wanted = useRef({ tab, mode });
  wanted.current = { tab, mode };
  const look = () => {
    const editor = view.current;
    if (!editor) return;
    const { state } = editor;
    const { tab: shownTab, mode: shownMode } = wanted.current;
    const held = state.field(records);
    const slice = (from: number, to: number) => state.sliceDoc(from, to);
    const isPreview = shownMode !== "edit";
    const text = isPreview || shownTab === "outline" ? state.doc.toString() : "";
    setLooked((before) => ({
      text: isPreview ? text : "",
      headings: shownTab === "outline" ? same(before.headings, headingsOf(text)) : before.headings,
      suggestions: shownTab === "suggestions" ? suggestionsIn(state) : before.suggestions,
      marks: isPreview ? held.flatMap((one) => one.spans.flatMap(([from, to]) => markAt(from, to, slice) ?? [])) : [],
      count: held.filter((one) => one.kind === "suggestion").length,
      comments: held.flatMap((one) => (one.kind === "comment" ? one.id : [])).join(" "),
    }));
  };
  useLayoutEffect(look, [tab, mode]);
  const timer = useRef(0);
  const changed = (update: ViewUpdate) => {
    const isMarked = update.transactions.some((one) => one.effects.some((effect) => effect.is(setRecords)));
    if (!update.docChanged && !isMarked) return;
    // Not put off again by every letter: who types for long sees the panel follow too.
    const isLong = update.state.doc.length > LONG;
    timer.current ||= window.setTimeout(
      () => {
        timer.current = 0;
        look();
      },
      isLong ? 6 * LOOK_AFTER : LOOK_AFTER,
    );
  };

  const isLoaded = live.isLoaded.value;
  useEffect(() => {
    if (!isLoaded || !box.current) return undefined;
    live.provider.awareness.setLocalStateField("user", { name: session.value?.name ?? "Somebody" });
    const editor = makeEditor(live, box.current, mayWrite, {
      card: (suggestion) => card(suggestion, current.current),
      openComment: (id) => {
        setTab("comments");
        setChosen(id);
      },
      accept: (one) => decideIf(() => current.current.accept(one)),
      reject: (one) => decideIf(() => current.current.reject(one)),
      edit: (one) => decideIf(() => current.current.edit(one)),
      follow: (aim) => void follow(aim),
      comment,
      changed,
    });
    view.current = editor;
    look();
    const line = Number(place.peek().query.get("line"));
    if (line > 0) goToLine(line);
    else goToHeading(place.peek().query.get("heading") ?? "");
    return () => {
      clearTimeout(timer.current);
      timer.current = 0;
      editor.destroy();
      view.current = null;
    };
  }, [live, isLoaded]);
  useEffect(() => {
    if (view.current && view.current.state.readOnly === mayWrite) allowWriting(view.current, mayWrite);
  }, [mayWrite]);
  const rows = notes.value;
  useEffect(() => view.current?.dispatch({ effects: notesChanged.of(null) }), [rows]);
  useEffect(() => {
    document.title = `${noteName(path)} · flashgrep`;
  }, [path]);

  const decideIf = (work: () => void) => {
    if (current.current.mayDecide) work();
    else complain(current.current.reason);
  };

  // ── going somewhere ───────────────────────────────────────────────────────────────────────

  const goToPlace = (from: number, to = from) => {
    const editor = view.current;
    if (!editor) return;
    if (editor.dom.offsetParent === null) {
      show("edit");
      setTimeout(() => goToPlace(from, to));
      return;
    }
    const end = Math.min(to, editor.state.doc.length);
    const start = Math.min(from, end);
    editor.dispatch({ selection: { anchor: start, head: end }, effects: View.scrollIntoView(start, { y: "start", yMargin: 48 }) });
    editor.focus();
  };
  const goToLine = (line: number) => {
    const doc = view.current?.state.doc;
    if (doc) goToPlace(doc.line(Math.min(Math.max(line, 1), doc.lines)).from);
  };
  const goToHeading = (name: string) => {
    const plain = name.trim().toLowerCase();
    const text = plain ? (view.current?.state.doc.toString() ?? "") : "";
    const found = plain && headingsOf(text).find((one) => one.text.toLowerCase() === plain);
    if (found) goToPlace(found.at);
  };
  const placeOfComment = (one: Comment) => {
    const state = view.current?.state;
    if (!state) return null;
    return placeOf(state, one.id) ?? (one.suggestion ? placeOf(state, one.suggestion) : null);
  };
  const lineOf = (one: Comment) => {
    const found = placeOfComment(one);
    const doc = view.current?.state.doc;
    return found && doc ? doc.lineAt(Math.min(found.from, doc.length)).number : one.line;
  };
  const goToComment = (one: Comment) => {
    const found = placeOfComment(one);
    if (found) goToPlace(found.from);
    else goToLine(one.line);
  };
  const onView = (work: (editor: EditorView) => unknown) => () => {
    if (view.current) work(view.current);
  };
  const show = (next: Mode) => {
    setMode(next);
    localStorage.setItem(REMEMBERED, next);
  };

  useShortcuts("Note", [
    { keys: ["Alt+ArrowDown"], does: "Go to the next suggestion", run: onView(toSuggestion(1)), inFields: true },
    { keys: ["Alt+ArrowUp"], does: "Go to the previous suggestion", run: onView(toSuggestion(-1)), inFields: true },
    { keys: ["Alt+A"], does: "Accept the suggestion at the cursor", run: onView(decideHere("accept")), inFields: true },
    { keys: ["Alt+R"], does: "Reject the suggestion at the cursor", run: onView(decideHere("reject")), inFields: true },
    { keys: ["Alt+E"], does: "Edit the suggestion at the cursor, then accept it", run: onView(decideHere("edit")), inFields: true },
    { keys: ["Alt+C"], does: "Comment on the selection", run: comment, inFields: true },
    { keys: ["Ctrl+Enter"], does: "In a comment: send it", run: () => undefined },
    { keys: ["Alt+Enter"], does: "Follow the link at the cursor (or Ctrl and a click)", run: () => undefined },
    { keys: ["Alt+P"], does: "Change between editor and preview", run: () => show(mode === "edit" ? "preview" : "edit"), inFields: true },
    { keys: ["Ctrl+F"], does: "Find in the note (in the editor)", run: () => view.current?.focus() },
    { keys: ["Ctrl+Z", "Ctrl+Y"], does: "Undo and redo what you typed (in the editor)", run: () => undefined },
  ]);

  // ── the page ──────────────────────────────────────────────────────────────────────────────

  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
  const said = Array.isArray(comments) ? comments.length : 0;
  return (
    <div class={`note-page mode-${mode}`}>
      <header class="note-head">
        <div class="note-title">
          {folder && (
            <a class="note-folder" href={`/notes?folder=${encodeURIComponent(folder)}`}>
              {folder}
            </a>
          )}
          <h1>{noteName(path)}</h1>
        </div>
        <SaveState live={live} mayWrite={mayWrite} />
        <People live={live} />
        <div class="segments" role="group" aria-label="View">
          {MODES.map(([one, name]) => (
            <button key={one} type="button" class={`segment-${one}`} aria-pressed={mode === one} onClick={() => show(one)}>
              {one === "edit" && !mayWrite ? "Text" : name}
            </button>
          ))}
        </div>
        <button type="button" onClick={comment} title="Comment on the selection (Alt+C)">
          Comment
        </button>
        {mayWrite && (
          <>
            <button type="button" onClick={() => setDialog("move")}>
              Rename
            </button>
            <button type="button" class="danger" onClick={() => setDialog("delete")}>
              Delete
            </button>
          </>
        )}
      </header>
      <Banner live={live} gone={gone} onReload={onReload} />
      <LeftOver live={live} />
      {!mayOn("write", path) && (
        <p class="read-only">
          {mayDo(path)} {whyNot("write", path, "change this note")}
        </p>
      )}
      <div class="note-body">
        <div class="note-middle">
          {!isLoaded && <p class="empty muted">{waitingFor(live)}</p>}
          <div ref={box} class="editor-box" hidden={mode === "preview"} />
          {mode !== "edit" && isLoaded && <LazyPreview path={path} looked={looked} />}
        </div>
        <Panel
          tab={tab}
          onTab={setTab}
          tabs={[
            { id: "outline", name: "Outline", count: 0, content: () => <Outline headings={looked.headings} onGo={goToPlace} /> },
            {
              id: "suggestions",
              name: "Suggestions",
              count: looked.count,
              content: () => <PendingPanel suggestions={looked.suggestions} actions={actions} onShow={(one) => view.current && goTo(view.current, one)} />,
            },
            {
              id: "comments",
              name: "Comments",
              count: said,
              content: () => (
                <CommentsPanel
                  path={path}
                  comments={comments}
                  about={about}
                  chosen={chosen}
                  mayComment={mayComment}
                  mayResolve={mayWrite}
                  reason={mayComment ? "" : whyNot("suggest", path, "comment")}
                  settled={() => live.settled()}
                  onDone={() => {
                    setAbout(null);
                    view.current?.focus();
                  }}
                  lineOf={lineOf}
                  onShow={goToComment}
                />
              ),
            },
            {
              id: "links",
              name: "Links",
              count: 0,
              content: () => (
                <LinksPanel
                  path={path}
                  mayWrite={mayWrite}
                  reason={whyNot("write", path, "make notes")}
                  onLine={goToLine}
                  onCreate={(target) => void createNote(asPath(target.split("#")[0]!))}
                />
              ),
            },
            {
              id: "history",
              name: "History",
              count: 0,
              content: () => (
                <HistoryPanel
                  path={path}
                  mayWrite={mayWrite}
                  reason={whyNot("write", path, "restore a version")}
                  now={() => view.current?.state.doc.toString() ?? looked.text}
                />
              ),
            },
          ]}
        />
      </div>
      {editing && (
        <EditSuggestion
          suggestion={editing}
          settled={() => live.settled()}
          onClose={() => setEditing(null)}
        />
      )}
      {dialog === "move" && (
        <MoveNoteDialog path={path} settled={() => live.settled()} onMoved={onMoved} onClose={() => setDialog(null)} />
      )}
      {dialog === "delete" && <DeleteNote path={path} onDeleted={() => navigate("/notes")} onClose={() => setDialog(null)} />}
    </div>
  );
}

function waitingFor(live: LiveNote): string {
  if (live.trouble.value) return `${capital(live.trouble.value)}. Trying again…`;
  return live.connection.value === "lost" ? "No connection. Trying again…" : "Loading…";
}

function remembered(): Mode {
  const held = localStorage.getItem(REMEMBERED);
  return MODES.find(([mode]) => mode === held)?.[0] ?? "edit";
}

type PreviewPage = ComponentType<{ path: string; text: string; marks: readonly Mark[] }>;
let loaded: PreviewPage | null = null;

function LazyPreview({ path, looked }: { path: string; looked: Looked }) {
  const [Shown, setShown] = useState<PreviewPage | null>(() => loaded);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    if (Shown) return;
    import("./preview").then(
      (module) => {
        loaded = module.default;
        setShown(() => module.default);
      },
      (error: unknown) => setFailure(told(error)),
    );
  }, []);
  return (
    <div class="preview-box" tabIndex={0} role="region" aria-label="Preview of the note">
      {failure && <p role="alert">{failure}</p>}
      {Shown ? <Shown path={path} text={looked.text} marks={looked.marks} /> : <p class="muted">Loading…</p>}
    </div>
  );
}
