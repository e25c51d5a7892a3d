// Handles calls of tools whose input is plain text. A model writes a call of such a tool like a call of a function with
// one argument. Clients get the argument's text, piece by piece as it arrives; arguments of any other form are passed
// through unchanged.
import { textArgument, type ToolCallDelta } from "../../../base/domain/chat.ts";
import type { ReplyPiece } from "./reply-pieces.ts";

export class TextInputs {
  readonly #names: ReadonlySet<string>;
  /** Decoders of unfinished calls, by the index of the call. */
  readonly #open = new Map<number, InputText>();

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  /**
   * For tools whose input is text: replaces the JSON arguments of their calls in a piece of the answer by the decoded
   * text.
   *
   * @param isLast true if no piece follows
   */
  withTexts(piece: ReplyPiece, isLast: boolean): ReplyPiece {
    if (this.#names.size === 0) return piece;
    const toolCalls = piece.toolCalls.map((call) => this.#withText(call));
    return { ...piece, toolCalls: isLast ? this.#withRests(toolCalls) : toolCalls };
  }

  #withText(call: ToolCallDelta): ToolCallDelta {
    if (call.name !== undefined && this.#names.has(call.name)) this.#open.set(call.index, new InputText());
    const input = this.#open.get(call.index);
    return input === undefined
      ? call
      : { ...call, argumentsText: input.push(call.argumentsText), isText: true };
  }

  /** Adds text that was held back for calls whose arguments turned out not to have the expected form. */
  #withRests(calls: readonly ToolCallDelta[]): readonly ToolCallDelta[] {
    const all = [...calls];
    for (const [index, input] of this.#open) {
      const argumentsText = input.end();
      if (argumentsText === "") continue;
      const at = all.findIndex((call) => call.index === index);
      if (at < 0) all.push({ index, argumentsText, isText: true });
      else all[at] = { ...all[at], argumentsText: all[at].argumentsText + argumentsText };
    }
    return all;
  }
}

const head = new RegExp(`^\\s*\\{\\s*"${textArgument}"\\s*:\\s*"`);
/** Maximum number of characters in the JSON of the arguments before the argument's text begins. */
const headLengthMax = 256;

/** Decodes the text input of one call. */
class InputText {
  #state: "before" | "within" | "behind" | "other" = "before";
  /** Text received but not yet emitted. */
  #held = "";

  push(text: string): string {
    if (this.#state === "other") return text;
    if (this.#state === "behind") return "";
    this.#held += text;
    if (this.#state === "before") {
      const found = head.exec(this.#held);
      if (found === null) return this.#held.length > headLengthMax ? this.#asOther() : "";
      this.#state = "within";
      this.#held = this.#held.slice(found[0].length);
    }
    return this.#unescaped();
  }

  /**
   * Returns the text that was held back if the arguments do not have the expected form; otherwise returns an empty
   * text.
   */
  end(): string {
    const left = this.#state === "before" ? this.#held : "";
    this.#held = "";
    return left;
  }

  #asOther(): string {
    this.#state = "other";
    const held = this.#held;
    this.#held = "";
    return held;
  }

  /** Returns the decoded text received so far, without an incomplete escape at the end. */
  #unescaped(): string {
    const [whole] =
      /^(?:[^"\\]|\\u[dD][89abAB][\da-fA-F]{2}(?:\\u[\da-fA-F]{4}|(?=[^\\]|\\[^u]))|\\u(?![dD][89abAB])[\da-fA-F]{4}|\\[^u])*/.exec(
        this.#held,
      ) ?? [""];
    this.#held = this.#held.slice(whole.length);
    if (this.#held.startsWith('"')) {
      this.#state = "behind";
      this.#held = "";
    }
    return parsed(whole);
  }
}

function parsed(text: string): string {
  try {
    return String(JSON.parse(`"${text.replaceAll(/\p{Cc}/gu, escapedControl)}"`));
  } catch {
    return text;
  }
}

function escapedControl(character: string): string {
  return JSON.stringify(character).slice(1, -1);
}
