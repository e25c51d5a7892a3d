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
      if (limits !== undefined) keepWithin(limits, interpreter, clock);
      try {
        for (const [name, value] of Object.entries({ ...globals(clock), ...variables }))
          environment.set(name, value);
        const result = interpreter.run(program).value;
        assert(typeof result === "string", "a template renders to text");
        return result;
      } catch (cause) {
        if (cause instanceof ServiceError) throw cause;
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new ServiceError({
          code: "unsupported",
          message: `The chat template cannot render these messages: ${cut(reason)}`,
          cause,
        });
      }
    },
  };
}

/** What we use of the vendored class, whose own declarations do not resolve under Node's module resolution. */
interface VendorInterpreter {
  run(program: unknown): { readonly value: unknown };
  /** Calls itself for every expression and statement within. */
  evaluate(node: unknown, environment: unknown): { readonly value: unknown };
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

function parse(source: string): Template["parsed"] {
  try {
    return new Template(source).parsed;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError({
      code: "unsupported",
      message: `The chat template has an error: ${reason}`,
      cause,
    });
  }
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
