// One compiled Jinja template, run as Hugging Face runs chat templates: blocks trimmed, `raise_exception`, `strftime_now`,
// `range`, `tojson`. Knows nothing of messages. Its limits are looked at between one node and the next: what one filter
// does with values that are within them it does not break off.
import { Environment, Interpreter, Template } from "@huggingface/jinja";
import { assert } from "../domain/assert.ts";
import type { Clock } from "../domain/clock.ts";
import { cut, ServiceError } from "../domain/service-error.ts";
import { strftime } from "./strftime.ts";

export interface JinjaProgram {
  /** The syntax tree, for looking at; see `content-format.ts`. */
  readonly tree: unknown;
  /**
   * @throws ServiceError `unsupported`: with the template's own message when it raises, else saying where it failed;
   *   what `limits` say when one is reached
   */
  run(variables: Readonly<Record<string, unknown>>, limits?: ProgramLimits): string;
}

/** What a run may take, and the error of one that takes more. */
export interface ProgramLimits {
  readonly timeMs: number;
  readonly onTimeUp: () => ServiceError;
  /** Characters of any text, and items of any list, that the template makes. */
  readonly lengthMax: number;
  readonly onTooLong: () => ServiceError;
}

/** Compiles a template; throws ServiceError `unsupported` when its syntax is wrong. */
export function compileJinja(source: string, clock: Clock): JinjaProgram {
  const program = parse(source);
  return {
    tree: program,
    run: (variables, limits) => {
      const environment = new Environment();
      const interpreter: VendorInterpreter = new Interpreter(environment);
      stripCharacters(interpreter);
      filterMissing(interpreter);
      if (limits !== undefined) keepWithin(limits, interpreter, clock);
      try {
        for (const [name, value] of Object.entries({ ...globals(clock), ...variables }))
          environment.set(name, value);
        const result = interpreter.run(program).value;
        assert(typeof result === "string", "a template renders to text");
        return result;
      } catch (cause) {
        if (cause instanceof ServiceError) throw cause;
        const message = `The chat template cannot render these messages: ${reasonOf(cause)}`;
        throw new ServiceError({ code: "unsupported", message, cause });
      }
    },
  };
}

/** What we use of the vendored class, whose own declarations do not resolve under Node's module resolution. */
interface VendorInterpreter {
  run(program: unknown): { readonly value: unknown };
  /** Calls itself for every expression and statement within. */
  evaluate(node: unknown, environment: unknown): VendorValue;
  applyFilter(operand: VendorValue, filter: unknown, environment: unknown): VendorValue;
}

interface VendorValue {
  readonly type: string;
  readonly value: unknown;
}

/** Looking at the clock takes as long as a few nodes. */
const nodesPerLook = 64;

function keepWithin(limits: ProgramLimits, interpreter: VendorInterpreter, clock: Clock): void {
  const evaluate = interpreter.evaluate.bind(interpreter);
  const endMs = clock.monotonicMs() + limits.timeMs;
  let nodeCount = 0;
  interpreter.evaluate = (node, environment) => {
    nodeCount += 1;
    if (nodeCount % nodesPerLook === 0 && clock.monotonicMs() > endMs) throw limits.onTimeUp();
    const result = evaluate(node, environment);
    const { value } = result;
    const length = typeof value === "string" || Array.isArray(value) ? value.length : 0;
    if (length > limits.lengthMax) throw limits.onTooLong();
    return result;
  };
}

/** Makes `strip` and its like heed the characters that they are given, as Python's do: the vendored ones strip blanks whatever is said. */
function stripCharacters(interpreter: VendorInterpreter): void {
  const evaluate = interpreter.evaluate.bind(interpreter);
  interpreter.evaluate = (node, environment) => {
    const call = stripCallIn(node);
    if (call === null) return evaluate(node, environment);
    const text = interpreter.evaluate(call.object, environment);
    // What is no text has no such method, which the vendor says.
    if (typeof text.value !== "string") return evaluate(node, environment);
    // Every text of the vendor's is made so.
    const Text = text.constructor as new (value: string) => typeof text;
    return new Text(stripped(text.value, call));
  };
}

/** Those whose result for an empty text is Python's for what is not defined. */
const textFilters: ReadonlySet<string> = new Set([
  "capitalize",
  "indent",
  "int",
  "join",
  "length",
  "lower",
  "replace",
  "string",
  "title",
  "trim",
  "upper",
]);

const emptyText = { type: "StringLiteral", value: "" };

/** Lets filters of texts take what is not defined for an empty text, as Python's do: the vendored ones throw. */
function filterMissing(interpreter: VendorInterpreter): void {
  const apply = interpreter.applyFilter.bind(interpreter);
  interpreter.applyFilter = (operand, filter, environment) => {
    if (operand.type !== "UndefinedValue" || !textFilters.has(filterName(filter))) {
      return apply(operand, filter, environment);
    }
    return apply(interpreter.evaluate(emptyText, environment), filter, environment);
  };
}

/** Of the vendor's node of `filter` or `filter(…)`. */
function filterName(node: unknown): string {
  const { value, callee } = node as { readonly value?: string; readonly callee?: { readonly value: string } };
  return callee?.value ?? value ?? "";
}

interface StripCall {
  readonly object: unknown;
  readonly characters: string;
  readonly method: string;
}

/** The vendor's node of `object.strip("characters")`, where it is one. */
function stripCallIn(node: unknown): StripCall | null {
  // Nodes of other types are told apart before anything else is read; parts that a slice leaves out are undefined.
  const call = node as
    | {
        readonly type: string;
        readonly args: readonly { readonly type: string; readonly value: string }[];
        readonly callee: {
          readonly type: string;
          readonly object: unknown;
          readonly property: { readonly value: unknown };
        };
      }
    | undefined;
  if (call?.type !== "CallExpression" || call.callee.type !== "MemberExpression") return null;
  const [characters] = call.args;
  const method = call.callee.property.value;
  const isStrip = method === "strip" || method === "lstrip" || method === "rstrip";
  if (!isStrip || call.args.length !== 1 || characters.type !== "StringLiteral") return null;
  return { object: call.callee.object, characters: characters.value, method };
}

function stripped(text: string, { characters, method }: StripCall): string {
  let start = 0;
  let end = text.length;
  if (method !== "rstrip") while (start < end && characters.includes(text[start])) start++;
  if (method !== "lstrip") while (end > start && characters.includes(text[end - 1])) end--;
  return text.slice(start, end);
}

function parse(source: string): Template["parsed"] {
  try {
    return new Template(source).parsed;
  } catch (cause) {
    const message = `The chat template has an error: ${
      // The parser reads on behind the last token.
      cause instanceof TypeError ? "it ends within a statement or an expression" : reasonOf(cause)
    }`;
    throw new ServiceError({ code: "unsupported", message, cause });
  }
}

/** What was thrown, in words for whoever wrote the template. */
function reasonOf(cause: unknown): string {
  if (cause instanceof RangeError) {
    return cause.message.includes("call stack")
      ? "it is nested too deeply"
      : "it makes too long a text or list";
  }
  return cut(cause instanceof Error ? cause.message : String(cause));
}

/** The names every template may use; a request's variables of the same name hide them. */
function globals(clock: Clock): Readonly<Record<string, unknown>> {
  return {
    true: true,
    false: false,
    none: null,
    True: true,
    False: false,
    None: null,
    raise_exception: (message: unknown) => {
      throw new ServiceError({ code: "unsupported", message: cut(String(message)) });
    },
    strftime_now: (format: unknown) => strftime(clock.now(), String(format)),
    range: (first: number, second?: number, step?: number) =>
      second === undefined ? range(0, first, 1) : range(first, second, step ?? 1),
  };
}

/** As in the sandbox of Python's Jinja, in which Hugging Face runs chat templates. */
const rangeLengthMax = 100_000;

function range(start: number, stop: number, step: number): number[] {
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (!Number.isFinite(count)) throw new Error("range() needs whole numbers and a step other than 0");
  if (count > rangeLengthMax)
    throw new Error(`range() of ${count} numbers is too long; it may have ${rangeLengthMax}`);
  return Array.from({ length: count }, (_, index) => start + index * step);
}
