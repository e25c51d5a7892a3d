// Tokens of an answer as the page shows them: their text and probability.
import { withMinus } from "../components/numbers.ts";

/** A token in the format of the API's `logprobs.content`. */
export interface TokenBody {
  readonly token: string;
  readonly logprob?: number | null;
  readonly bytes?: readonly number[] | null;
  readonly top_logprobs?: readonly TokenBody[] | null;
}

export interface ShownToken {
  /** Text of the token; empty if it ends within a character, which the next tokens complete. */
  readonly text: string;
  /** True for a token that adds no text, such as the token that ends the turn. */
  readonly isTextless: boolean;
  /** Natural log-probability; null if unknown. */
  readonly logprob: number | null;
  readonly level: number | null;
  /** Alternatives, most probable first. */
  readonly alternatives: readonly { readonly text: string; readonly logprob: number | null }[];
}

/** Shown in place of the text of a token that has none. */
const noText = "⟨no text⟩";

/** Lower bounds of the probability levels; the last level is below all of them. */
export const levelBounds = [0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01] as const;

/** Returns the level that determines a token's colour: 0 for a nearly certain token, 7 for an improbable one. */
export function levelOf(logprob: number): number {
  const probability = Math.exp(logprob);
  const level = levelBounds.findIndex((bound) => probability >= bound);
  return level === -1 ? levelBounds.length : level;
}

/** Decodes the tokens of an answer in order. It keeps the bytes of an incomplete character until the next token. */
export class TokenReader {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  read(body: TokenBody): ShownToken {
    const logprob = typeof body.logprob === "number" ? body.logprob : null;
    return {
      text: Array.isArray(body.bytes)
        ? this.#decoder.decode(Uint8Array.from(body.bytes), { stream: true })
        : textWithoutBytes(body.token),
      isTextless: isTextless(body),
      logprob,
      level: logprob === null ? null : levelOf(logprob),
      alternatives: (body.top_logprobs ?? []).map(alternativeOf),
    };
  }
}

/** Decodes the tokens of a whole answer. */
export function shownTokens(content: readonly TokenBody[]): readonly ShownToken[] {
  const reader = new TokenReader();
  return content.map((body) => reader.read(body));
}

function alternativeOf(body: TokenBody): ShownToken["alternatives"][number] {
  const text = isTextless(body)
    ? noText
    : Array.isArray(body.bytes)
      ? new TextDecoder().decode(Uint8Array.from(body.bytes))
      : textWithoutBytes(body.token);
  return { text, logprob: typeof body.logprob === "number" ? body.logprob : null };
}

function isTextless({ token, bytes }: TokenBody): boolean {
  return Array.isArray(bytes) ? bytes.length === 0 : token === "";
}

/** With `return_tokens_as_token_ids`, the API sends `token_id:<id>` in place of the text. */
function textWithoutBytes(token: string): string {
  const id = /^token_id:(\d+)$/.exec(token);
  return id === null ? token : `⟨${id[1]}⟩`;
}

/** Returns the text that stands for a token; a mark for a token without text, which would be invisible. */
export function drawnText({ text, isTextless: hasNone }: ShownToken, isLast: boolean): string {
  if (!hasNone) return text;
  return isLast ? "⟨end⟩" : noText;
}

/**
 * Returns a token's text with visible characters for its line breaks and tabs, and for spaces of a token that has only
 * spaces.
 */
export function glyphText(text: string): string {
  const spaced = /^ +$/.test(text) ? text.replaceAll(" ", "␣") : text;
  return spaced.replaceAll("\n", "⏎\n").replaceAll("\t", "⇥\t");
}

/** Returns a token's text on one line, with visible characters in place of whitespace. */
export function visibleText(text: string): string {
  return text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "␣");
}

/** Formats a probability, such as `−0.105 (90.0 %)`. */
export function probabilityText(logprob: number | null): string {
  if (logprob === null) return "unknown";
  const percent = Math.exp(logprob) * 100;
  const shown = percent < 0.001 ? "under 0.001" : percent.toFixed(percent >= 10 ? 1 : percent >= 0.1 ? 2 : 3);
  return `${signed(logprob)} (${shown} %)`;
}

function signed(logprob: number): string {
  // Adding 0 turns a rounded -0 into 0.
  return withMinus((Number(logprob.toFixed(3)) + 0).toFixed(3));
}

/** Returns the mean of the known log-probabilities; null if none is known. */
export function meanLogprob(tokens: readonly Pick<ShownToken, "logprob">[]): number | null {
  const known = tokens.flatMap(({ logprob }) => logprob ?? []);
  return known.length === 0 ? null : known.reduce((sum, logprob) => sum + logprob, 0) / known.length;
}
