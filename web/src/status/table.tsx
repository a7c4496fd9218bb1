// A table of rows, which scrolls by itself, by keys too.

import type { ComponentChildren } from "preact";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** Names the row, for those who hear the table. */
  isHead?: boolean;
  isNumber?: boolean;
  /** The title is heard, not seen. */
  isBare?: boolean;
  /** Says nothing that other columns do not. */
  isHidden?: boolean;
  class?: string;
}

interface Properties<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  id: (row: Row, at: number) => string;
}

export function Table<Row>({ label, columns, rows, id }: Properties<Row>) {
  return (
    <div class="scrolled card" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.isNumber ? "number" : undefined}>
                {column.isBare ? <span class="visually-hidden">{column.title}</span> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={id(row, at)}>
              {columns.map((column) =>
                column.isHead ? (
                  <th key={column.title} scope="row">
                    {column.cell(row)}
                  </th>
                ) : (
                  <td
                    key={column.title}
                    class={column.isNumber ? "number" : column.class}
                    aria-hidden={column.isHidden ? "true" : undefined}
                  >
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
