// Text of errors as the page shows it.
import { HoneError } from "../../../client/hone-error.ts";

/** Texts for errors of the client whose messages are for programs. Each says what the user can do. */
const clientTexts: Readonly<Record<string, string>> = {
  connection:
    "The server does not answer. Check that it is running and that your network reaches it, then try again.",
  timeout: "The server has not answered in time. It may be busy; try again in a minute.",
};
const refusedKey = "The server no longer accepts your key. Reload the page and sign in again.";

/** Returns an error's message to show to the user, without the HTTP status that the client puts before it. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof HoneError)) return error.message;
  if (error.status === 401) return refusedKey;
  const prefix = `${error.status}: `;
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
  return (error.status === 0 ? clientTexts[error.code] : undefined) ?? message;
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
