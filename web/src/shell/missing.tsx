// How a server without notes gets some: the same words wherever notes are missing.

export function NotesMissing() {
  return (
    <>
      Make a knowledge base with <code>flashgrep kb init --kb ~/notes</code>, then start the server with{" "}
      <code>flashgrep serve --kb ~/notes</code>.
    </>
  );
}
