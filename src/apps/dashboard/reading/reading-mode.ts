// How views show the texts of messages: as they are, as formatted Markdown, or with coloured tokens. The browser stores
// the choice.
import { signal } from "@preact/signals";

export const readingModes = ["text", "markdown", "tokens"] as const;
export type ReadingMode = (typeof readingModes)[number];

const name = "hone-reading";

export const readingMode = signal<ReadingMode>(chosen());

export function chooseMode(mode: ReadingMode): void {
  readingMode.value = mode;
  localStorage.setItem(name, mode);
}

/** Returns the stored choice; by default, tokens, which are shown as text if there are none. */
function chosen(): ReadingMode {
  const kept = localStorage.getItem(name);
  return readingModes.find((mode) => mode === kept) ?? "tokens";
}
