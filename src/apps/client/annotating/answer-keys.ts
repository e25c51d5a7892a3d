// Assigns keys to answers and parses typed answers, for the terminal and the web page. Pure.
import type { AskedQuestion } from "../api.ts";

export interface AnswerKey {
  readonly key: string;
  /** Text shown next to the key; empty if the key itself says enough. */
  readonly label: string;
  readonly value: unknown;
}

/** Keys of actions other than answering; `AnnotationSession` has a method for each. */
export const sessionKeys = { leaveOut: "-", skip: "s", undo: "u", quit: "q" } as const;

/** Returns a key for each answer; null if there are more answers than keys, so the answer must be typed. */
export function answerKeys({ kind, choices, minimum, maximum }: AskedQuestion): readonly AnswerKey[] | null {
  if (kind === "boolean")
    return [
      { key: "y", label: "yes", value: true },
      { key: "n", label: "no", value: false },
    ];
  if (kind === "choice" && choices !== null && choices.length <= 9)
    return choices.map((value: unknown, index) => ({
      key: String(index + 1),
      label: formatAnswer(value),
      value,
    }));
  if (kind === "integer" && minimum !== null && maximum !== null && minimum >= 0 && maximum <= 9)
    return Array.from({ length: maximum - minimum + 1 }, (_, index) => {
      const digit = minimum + index;
      return { key: String(digit), label: "", value: digit };
    });
  return null;
}

/** Formats an answer as text. */
export function formatAnswer(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Parses a typed answer, or returns what is wrong with it. The server validates the answer further. */
export function typedAnswer(
  { kind, choices }: Pick<AskedQuestion, "kind" | "choices">,
  text: string,
): { readonly value: unknown } | { readonly fault: string } {
  const trimmed = text.trim();
  if (trimmed === "") return { fault: "type an answer" };
  switch (kind) {
    case "choice": {
      const named = (choices ?? []).findIndex((choice) => formatAnswer(choice) === trimmed);
      const index = named >= 0 ? named : /^\d+$/.test(trimmed) ? Number(trimmed) - 1 : -1;
      const choice: unknown = choices?.[index];
      return choice === undefined ? { fault: "type one of the answers, or its number" } : { value: choice };
    }
    case "integer":
    case "number":
      return Number.isFinite(Number(trimmed)) ? { value: Number(trimmed) } : { fault: "type a number" };
    case "json":
      try {
        return { value: JSON.parse(trimmed) as unknown };
      } catch {
        // The text is not JSON, so the text itself is the answer: people rarely type quotation marks.
        return { value: trimmed };
      }
    default:
      return { value: trimmed };
  }
}
