import type { RenderedProperties } from "./change";

export default function Rendered({ before, pieces, after }: RenderedProperties) {
  return <pre>{before}{pieces.map((one) => one.text).join("")}{after}</pre>;
}
