// Calls of tools that take a text: models write them as functions with that one argument, and clients get the text itself,
// piece by piece as it comes. Arguments that are something else are given away as they stand.
import { textArgument, type ToolCallDelta } from "../../../base/domain/chat.ts";
import type { ReplyPiece } from "./reply-pieces.ts";

export class TextInputs {
  readonly #names: ReadonlySet<string>;
  /** By the call's index. */
  readonly #open = new Map<number, InputText>();

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  /** @param isLast whether nothing more comes */
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

  /** With what was held back of calls that turned out to be something else. */
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
/** All that may come before the text. */
const headLengthMax = 256;

/** One call's text. */
class InputText {
  #state: "before" | "within" | "behind" | "other" = "before";
  /** What is not given away yet. */
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

  /** What is left where the arguments are not what they should be. */
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

  /** The text as far as it has come; an escape that is not whole waits. */
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
