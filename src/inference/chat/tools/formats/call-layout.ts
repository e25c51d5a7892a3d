// Layouts of tool calls in an answer, as texts with slots. They describe a format; the reader of calls and the
// constraint on them are both built from them. Pure data: nothing here reads an answer.

/** One way to write calls. */
export interface CallLayout {
  /** The frame around the calls of one block: a text with `{calls}`. */
  readonly calls: string;
  /** Text between two calls of a block. */
  readonly separator: string;
  /**
   * One call: a text with `{object}`, or with `{name}` and `{arguments}`, `{parameters}` or `{keywords}`; also
   * `{index}` and `{id}`. Keywords are arguments as Python writes them: `city="Rome", days=3`.
   */
  readonly call: string;
  /** For `{object}`: a JSON object with the name and the arguments as members. */
  readonly object: ObjectMembers;
  /** For `{parameters}`: one parameter, a text with `{name}` and `{value}`; also `{isText}`, which is true or false. */
  readonly parameter: string | null;
  /** For `{arguments}` that are not JSON: the quote around texts; names are unquoted. Null for JSON. */
  readonly quote: string | null;
  /** True if calls may only begin an answer: such a layout needs known functions, but no mark. */
  readonly isAtStart: boolean;
  /** True if answers may be constrained to this layout; otherwise it is only read, in unconstrained answers. */
  readonly isWritten: boolean;
}

export interface ObjectMembers {
  readonly name: string;
  readonly arguments: string;
  /** Pattern for an id that may follow the arguments; null if there is none. */
  readonly id: string | null;
}

export const plainLayout: Omit<CallLayout, "call"> = {
  calls: "{calls}",
  separator: "",
  object: { name: "name", arguments: "arguments", id: null },
  parameter: null,
  quote: null,
  isAtStart: false,
  isWritten: true,
};

/** A call format. */
export interface FormatDescription {
  readonly name: string;
  /** The first is the usual layout, the others are accepted variants. */
  readonly layouts: readonly CallLayout[];
  /** True if a model knows the format only from its prompt, and its answers are constrained to it. */
  readonly isTaught?: boolean;
  /** Text in a template that suggests the format, for templates that write no calls themselves. */
  readonly hint?: string;
  /** Form of the calls' ids: like vLLM's, nine letters and digits, or a text with `{name}` and `{index}`. */
  readonly ids: "long" | "short" | (string & {});
}

const slots = [
  "calls",
  "object",
  "name",
  "arguments",
  "parameters",
  "keywords",
  "value",
  "index",
  "id",
  "isText",
] as const;
export type Slot = (typeof slots)[number];

/** A part of a layout: a text, or a slot. */
export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly words: readonly string[] }
  | { readonly kind: Slot };

const slotPattern = new RegExp(`\\{(${slots.join("|")})\\}`);

/** Splits a layout's text into texts and slots; no text is empty. */
export function splitLayout(text: string): readonly Piece[] {
  return text.split(slotPattern).flatMap((part, index): readonly Piece[] => {
    const slot = index % 2 === 1 ? slots.find((one) => one === part) : undefined;
    if (slot !== undefined) return [{ kind: slot }];
    return part === "" ? [] : [{ kind: "text", text: part, words: requiredWords(part) }];
  });
}

/** Splits a text into the words that a reader requires; blanks are optional layout. */
export function requiredWords(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** Returns the text around the calls of a block. */
export function callFrame({ calls }: CallLayout): { readonly open: string; readonly close: string } {
  const [open = "", close = ""] = calls.split("{calls}");
  return { open, close };
}

/** Returns the word that announces calls to a reader; empty if it is only the brace or bracket of JSON. */
export function callMark(layout: CallLayout): string {
  const { open } = callFrame(layout);
  const [first] = splitLayout(layout.call);
  const prefix = first?.kind === "text" ? first.text : "";
  return requiredWords(open)[0] ?? requiredWords(prefix)[0] ?? "";
}

/** Returns the marks of some layouts, without those that begin with another mark. */
export function callMarks(layouts: readonly CallLayout[]): readonly string[] {
  const marks = [...new Set(layouts.map(callMark))];
  return marks.filter((mark) => !marks.some((other) => other !== mark && mark.startsWith(other)));
}
