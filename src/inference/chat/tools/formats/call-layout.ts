// Layouts of tool calls in an answer, as text templates with slots. A layout describes a format; both the reader of
// calls and the constraint on them are built from it. Pure data: nothing here reads an answer.

/** One layout in which calls are written. */
export interface CallLayout {
  /** The frame around a block of calls: a text with `{calls}`. */
  readonly calls: string;
  /** Text between two calls in a block. */
  readonly separator: string;
  /**
   * One call: a text with `{object}`, or with `{name}` and `{arguments}`, `{parameters}` or `{keywords}`; also
   * `{index}` and `{id}`. Keywords are arguments in Python's notation: `city="Rome", days=3`.
   */
  readonly call: string;
  /** Member names of `{object}`, a JSON object with the name and the arguments. */
  readonly object: ObjectMembers;
  /**
   * Layout of one parameter in `{parameters}`: a text with `{name}` and `{value}`, and optionally `{isText}`, which is
   * replaced by true or false; null without `{parameters}`.
   */
  readonly parameter: string | null;
  /** Quote around texts in `{arguments}` that are not JSON and whose names are unquoted; null for JSON. */
  readonly quote: string | null;
  /** True if calls may only begin an answer. Such a layout needs no mark, but reads only calls of known functions. */
  readonly isAtStart: boolean;
  /** True if constraints produce this layout; otherwise it is only read, and only in unconstrained answers. */
  readonly isWritten: boolean;
}

export interface ObjectMembers {
  readonly name: string;
  readonly arguments: string;
  /** Pattern of an id that may follow the arguments; null if calls have none. */
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
  /** Layouts, of which the first is the usual one and the others are accepted variants. */
  readonly layouts: readonly CallLayout[];
  /** True if a model knows the format only from its prompt; its answers are then constrained to the format. */
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

/** A part of a layout: a fixed text, or a slot. */
export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly words: readonly string[] }
  | { readonly kind: Slot };

const slotPattern = new RegExp(`\\{(${slots.join("|")})\\}`);

/** Splits a layout's text into fixed texts, each non-empty, and slots. */
export function splitLayout(text: string): readonly Piece[] {
  return text.split(slotPattern).flatMap((part, index): readonly Piece[] => {
    const slot = index % 2 === 1 ? slots.find((one) => one === part) : undefined;
    if (slot !== undefined) return [{ kind: slot }];
    return part === "" ? [] : [{ kind: "text", text: part, words: requiredWords(part) }];
  });
}

/** Splits a text into words, which a reader requires; the blanks between them are optional layout. */
export function requiredWords(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** Returns the text before and after the calls of a block. */
export function callFrame({ calls }: CallLayout): { readonly open: string; readonly close: string } {
  const [open = "", close = ""] = calls.split("{calls}");
  return { open, close };
}

/** Returns the word by which a reader recognizes a call; empty if that would be only the brace or bracket of JSON. */
export function callMark(layout: CallLayout): string {
  const { open } = callFrame(layout);
  const [first] = splitLayout(layout.call);
  const prefix = first?.kind === "text" ? first.text : "";
  return requiredWords(open)[0] ?? requiredWords(prefix)[0] ?? "";
}

/** Returns the marks of several layouts, without those that begin with another mark. */
export function callMarks(layouts: readonly CallLayout[]): readonly string[] {
  const marks = [...new Set(layouts.map(callMark))];
  return marks.filter((mark) => !marks.some((other) => other !== mark && mark.startsWith(other)));
}
