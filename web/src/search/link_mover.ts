// Moving between the links of a short list by keys.

import type { RefObject } from "preact";
import type { Mover } from "./list";

export function useLinkMover(list: RefObject<HTMLElement | null>, onLeave: () => void): Mover {
  return {
    move: (by) => {
      const links = [...(list.current?.querySelectorAll<HTMLElement>("a[data-result]") ?? [])];
      const at = links.indexOf(document.activeElement as HTMLElement) + by;
      if (at < 0) {
        onLeave();
        return false;
      }
      links[at]?.focus();
      links[at]?.scrollIntoView({ block: "nearest" });
      return at < links.length;
    },
  };
}
