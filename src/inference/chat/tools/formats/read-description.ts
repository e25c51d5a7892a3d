// Reads an operator's description of a call format from a JSON file. The built-in formats are described in the same
// form. Error messages name the member of the description that is at fault.
import { readFile, stat } from "node:fs/promises";
import { requirePlainFile } from "../../../../base/domain/transient-errors/plain-file.ts";
import { cut, quoted, ServiceError } from "../../../../base/domain/service-error.ts";
import {
  callMark,
  splitLayout,
  plainLayout,
  type CallLayout,
  type FormatDescription,
  type ObjectMembers,
  type Piece,
  type Slot,
} from "./call-layout.ts";

/**
 * Reads and validates the description in a file.
 *
 * @throws ServiceError `invalid` for a file that cannot be read, or that has no valid description
 */
export async function loadFormatDescription(file: string): Promise<FormatDescription> {
  let text: string;
  try {
    requirePlainFile(file, await stat(file));
    text = await readFile(file, "utf8");
  } catch (error) {
    throw error instanceof ServiceError ? error : fault(file, "cannot be read", error);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw fault(file, "is not JSON", error);
  }
  return readFormatDescription(value, file);
}

/**
 * Validates a description.
 *
 * @param source name of the description's file, for error messages
 */
export function readFormatDescription(value: unknown, source: string): FormatDescription {
  const members = new Members(value, source);
  const name =
    members.text("name") ?? members.refuse("name", "must be a text, by which chat.toolCalls names it");
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(name))
    members.refuse("name", `is ${quoted(name)}; it must be lower-case letters, digits, ".", "_" and "-"`);
  const ids = members.text("ids") ?? "long";
  if (ids !== "long" && ids !== "short" && !ids.includes("{index}"))
    members.refuse("ids", 'must be "long", "short", or a text with {index}');
  const others = members.list("also").map((other, index) => {
    const inner = new Members(other, `${source}: also.${index}`);
    const layout = readLayout(inner, { isWritten: inner.flag("written") ?? false });
    inner.end();
    return layout;
  });
  const layouts = [readLayout(members, { isWritten: true }), ...others];
  members.end();
  return { name, ids, layouts };
}

function readLayout(members: Members, { isWritten }: Pick<CallLayout, "isWritten">): CallLayout {
  const layout: CallLayout = {
    calls: members.text("calls") ?? plainLayout.calls,
    separator: members.text("separator") ?? plainLayout.separator,
    call: members.text("call") ?? members.refuse("call", "must be a text: how one call is written"),
    object: objectOf(members),
    parameter: members.text("parameter"),
    quote: members.text("quote"),
    isAtStart: members.flag("atStart") ?? false,
    isWritten,
  };
  checkCall(layout, members);
  if (layout.calls.split("{calls}").length !== 2) members.refuse("calls", "must have {calls} once");
  if (!layout.isAtStart && callMark(layout).length < 2)
    members.refuse(
      layout.calls === "{calls}" ? "call" : "calls",
      "must begin with a text that marks calls, or atStart must be true",
    );
  if (/^\s/.test(layout.calls === "{calls}" ? layout.call : layout.calls))
    members.refuse("calls", "and call must not begin with a blank");
  if (layout.quote === "") members.refuse("quote", "must not be empty");
  return layout;
}

function objectOf(members: Members): ObjectMembers {
  const value = members.take("object");
  if (value === undefined) return plainLayout.object;
  const inner = members.within("object", value);
  const { name, arguments: argumentsName } = plainLayout.object;
  const object = {
    name: inner.text("name") ?? name,
    arguments: inner.text("arguments") ?? argumentsName,
    id: inner.text("id"),
  };
  if (object.id !== null && !isPattern(object.id)) inner.refuse("id", "must be a regular expression");
  inner.end();
  return object;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text).source !== "";
  } catch {
    return false;
  }
}

const callForms: readonly (readonly Slot[])[] = [
  ["object"],
  ["name", "arguments"],
  ["name", "parameters"],
  ["name", "keywords"],
];

function checkCall({ call, parameter, quote }: CallLayout, members: Members): void {
  const pieces = splitLayout(call);
  const main = slotsOf(pieces).filter((slot) => slot !== "index" && slot !== "id");
  if (!callForms.some((form) => form.join() === main.join()))
    members.refuse(
      "call",
      "must have {object}, or {name} followed by {arguments}, {parameters} or {keywords}, each once",
    );
  const hasParameters = main.includes("parameters");
  if (hasParameters !== (parameter !== null))
    members.refuse("parameter", "must be a text where call has {parameters}, and nowhere else");
  if (parameter !== null) checkParameter(parameter, members);
  if (quote !== null && !main.includes("arguments"))
    members.refuse("quote", "is for a call that has {arguments}");
}

function checkParameter(parameter: string, members: Members): void {
  const pieces = splitLayout(parameter);
  const slots = slotsOf(pieces);
  const isOrdered = ["name,value", "name,isText,value"].includes(slots.join());
  const texts = pieces.filter((piece) => piece.kind === "text" && piece.words.length > 0);
  if (!isOrdered || texts.length !== slots.length + 1)
    members.refuse(
      "parameter",
      "must have {name} followed by {value}, each once, and texts before, between and after them",
    );
}

function slotsOf(pieces: readonly Piece[]): readonly Slot[] {
  return pieces.flatMap(({ kind }) => (kind === "text" ? [] : [kind]));
}

/** The members of a JSON object. Records which of them have been read, so that `end` can refuse unknown ones. */
class Members {
  readonly #source: string;
  readonly #left: Map<string, unknown>;

  constructor(value: unknown, source: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw fault(source, "must be an object");
    this.#source = source;
    this.#left = new Map(Object.entries(value));
  }

  take(name: string): unknown {
    const value = this.#left.get(name) ?? undefined;
    this.#left.delete(name);
    return value;
  }

  text(name: string): string | null {
    const value = this.take(name);
    if (value === undefined) return null;
    return typeof value === "string" ? value : this.refuse(name, "must be a text");
  }

  flag(name: string): boolean | null {
    const value = this.take(name);
    if (value === undefined) return null;
    return typeof value === "boolean" ? value : this.refuse(name, "must be true or false");
  }

  list(name: string): readonly unknown[] {
    const value = this.take(name);
    if (value === undefined) return [];
    return Array.isArray(value) ? value : this.refuse(name, "must be a list of layouts");
  }

  within(name: string, value: unknown): Members {
    return new Members(value, `${this.#source}: ${name}`);
  }

  /** Refuses any member that has not been read. */
  end(): void {
    const [strange] = this.#left.keys();
    if (strange !== undefined) this.refuse(cut(strange), "is not known");
  }

  refuse(name: string, reason: string): never {
    throw fault(this.#source, `${name} ${reason}`);
  }
}

function fault(source: string, reason: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: "invalid", message: `The tool format ${source}: ${reason}.`, cause });
}
