// Text of errors as the page shows it.
import { HoneError } from "../../../client/hone-error.ts";

/** Returns an error's message to show to the user, without the HTTP status that the client puts before it. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const prefix = error instanceof HoneError ? `${error.status}: ` : "";
  return error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
}

export interface TextPart {
  readonly text: string;
  readonly isCode: boolean;
}

/** Splits a text at its backticks. A backtick without a partner stays in the text. */
export function codeParts(text: string): readonly TextPart[] {
  return text
    .split(/(`[^`]+`)/)
    .filter((part) => part !== "")
    .map((part) => {
      const isCode = /^`[^`]+`$/.test(part);
      return { text: isCode ? part.slice(1, -1) : part, isCode };
    });
}
