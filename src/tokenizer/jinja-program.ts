// One compiled Jinja template, run as Hugging Face runs chat templates: blocks trimmed, `raise_exception`, `strftime_now`,
// `range`, `tojson`. Knows nothing of messages. A template comes from a model folder and is trusted to end.
import { Environment, Interpreter, Template } from "@huggingface/jinja";
import { assert } from "../domain/assert.ts";
import type { Clock } from "../domain/clock.ts";
import { cut, ServiceError } from "../domain/service-error.ts";
import { strftime } from "./strftime.ts";

export interface JinjaProgram {
  /** The syntax tree, for looking at; see `content-format.ts`. */
  readonly tree: unknown;
  /**
   * @throws ServiceError `unsupported`: with the template's own message when it raises, else saying where it failed
   */
  run(variables: Readonly<Record<string, unknown>>): string;
}

/** Compiles a template; throws ServiceError `unsupported` when its syntax is wrong. */
export function compileJinja(source: string, clock: Clock): JinjaProgram {
  const program = parse(source);
  return {
    tree: program,
    run: (variables) => {
      const environment = new Environment();
      try {
        for (const [name, value] of Object.entries({ ...globals(clock), ...variables }))
          environment.set(name, value);
        const result: unknown = new Interpreter(environment).run(program).value;
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

function range(start: number, stop: number, step: number): number[] {
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (!Number.isFinite(count)) throw new Error("range() needs whole numbers and a step other than 0");
  return Array.from({ length: count }, (_, index) => start + index * step);
}
