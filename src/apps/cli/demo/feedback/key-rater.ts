// Lets a person rate answers with single keys. So that a round needs few keys, equal answers are shown only once with
// their count, the most frequent first. A rating applies to equal answers in later rounds too, until it is changed.
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { RatedAnswer, Rater, Thumb } from "./rater.ts";

export interface Keyboard {
  /** Returns the next pressed key, as the character that the terminal sends. */
  read(): Promise<string>;
}

/** Maximum number of distinct answers shown per round; the other answers get no rating. */
const shownMax = 6;
const textLengthMax = 48;

const keys: Readonly<Record<string, Thumb | "skip">> = {
  "+": "up",
  "=": "up",
  y: "up",
  "-": "down",
  _: "down",
  n: "down",
  " ": "skip",
  "\r": "skip",
  "\n": "skip",
};

export function keyRater(keyboard: Keyboard, write: (text: string) => void): Rater {
  const said = new Map<string, Thumb>();
  return {
    rate: async (answers) => {
      const counts = new Map<string, number>();
      for (const { text } of answers) counts.set(plain(text), (counts.get(plain(text)) ?? 0) + 1);
      const shown = [...counts].toSorted(([, one], [, other]) => other - one).slice(0, shownMax);
      write("\nPress + for a good answer and - for a bad one; space leaves an answer unrated.\n");
      for (const [text, count] of shown) {
        const before = said.get(text);
        write(
          `  ${JSON.stringify(shortened(text))} × ${count}${before === undefined ? "" : ` (${sign(before)})`}  `,
        );
        const thumb = await nextThumb(keyboard);
        if (thumb !== "skip") said.set(text, thumb);
        const now = said.get(text);
        write(`${now === undefined ? "·" : sign(now)}\n`);
      }
      const asked = new Set(shown.map(([text]) => text));
      return answers.map(({ text }) => (asked.has(plain(text)) ? (said.get(plain(text)) ?? null) : null));
    },
  };
}

/**
 * Waits for a key that means a thumb or skipping, and returns its meaning.
 *
 * @throws Error on q, Ctrl-C or Ctrl-D
 */
async function nextThumb(keyboard: Keyboard): Promise<Thumb | "skip"> {
  for (;;) {
    const key = (await keyboard.read()).toLowerCase();
    if (key === "\u0003" || key === "\u0004" || key === "q")
      throw new ServiceError({ code: "cancelled", message: "The demo was interrupted." });
    const thumb = keys[key];
    if (thumb !== undefined) return thumb;
  }
}

function sign(thumb: Thumb): string {
  return thumb === "up" ? "+" : "-";
}

function plain(text: RatedAnswer["text"]): string {
  return text.trim().toLowerCase();
}

function shortened(text: string): string {
  return text.length > textLengthMax ? `${text.slice(0, textLengthMax - 3)}...` : text;
}

/** Reads a terminal's keys as they are pressed. `close` restores the terminal. */
export function terminalKeyboard(input: NodeJS.ReadStream): Keyboard & { close(): void } {
  const pressed: string[] = [];
  let wanted: ((key: string) => void) | null = null;
  const onData = (data: Buffer | string): void => {
    for (const key of String(data)) {
      if (wanted === null) pressed.push(key);
      else {
        wanted(key);
        wanted = null;
      }
    }
  };
  input.setRawMode(true);
  input.on("data", onData);
  input.resume();
  return {
    read: () =>
      new Promise((resolve) => {
        const key = pressed.shift();
        if (key === undefined) wanted = resolve;
        else resolve(key);
      }),
    close: () => {
      input.off("data", onData);
      input.setRawMode(false);
      input.pause();
    },
  };
}
