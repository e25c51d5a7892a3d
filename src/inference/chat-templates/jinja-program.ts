// A compiled Jinja template whose failures are thrown as ServiceErrors. This module knows nothing of chat messages.
import type { Clock } from "../../base/domain/clock.ts";
import { cut, quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { ProgramLimits } from "../../lib/jinja/budget.ts";
import { TemplateFault, TemplateRaised } from "../../lib/jinja/fault.ts";
import type { Body } from "../../lib/jinja/syntax/nodes.ts";
import { compileTemplate, type Template } from "../../lib/jinja/template.ts";
import type { Value } from "../../lib/jinja/values/value.ts";

export type { ProgramLimits } from "../../lib/jinja/budget.ts";

/**
 * Error of a template that raised an exception or failed; the message says which of the two. A template that reaches a
 * limit gets a different error.
 */
export class TemplateFailure extends ServiceError {}

export interface JinjaProgram {
  /** The template's syntax tree, for inspection; see `content-format.ts`. */
  readonly body: Body;
  /**
   * Runs the template and returns the rendered text.
   *
   * @throws {@link TemplateFailure} `unsupported` with the template's own message if the template raises an exception,
   * otherwise with the location of the failure. Throws the error of `limits` if a limit is reached
   */
  run(variables: Readonly<Record<string, Value>>, limits?: ProgramLimits): string;
}

/** Compiles a template. Throws ServiceError `unsupported` when its syntax is wrong. */
export function compileJinja(source: string, clock: Clock): JinjaProgram {
  const template = parse(source, clock);
  return {
    body: template.body,
    run: (variables, limits) => {
      try {
        return template.render(Object.entries(variables), limits);
      } catch (cause) {
        if (cause instanceof ServiceError) throw cause;
        const message =
          cause instanceof TemplateRaised
            ? `The chat template refuses these messages: ${quoted(cause.message)}`
            : `The chat template cannot render these messages: ${reasonOf(cause)}`;
        throw new TemplateFailure({ code: "unsupported", message, cause });
      }
    },
  };
}

function parse(source: string, clock: Clock): Template {
  try {
    return compileTemplate(source, clock);
  } catch (cause) {
    const message = `The chat template has an error: ${reasonOf(cause)}`;
    throw new ServiceError({ code: "unsupported", message, cause });
  }
}

/** Returns the reason for a failure, as a text for the template's author. */
function reasonOf(cause: unknown): string {
  if (cause instanceof RangeError) {
    return cause.message.includes("call stack")
      ? "it is nested too deeply"
      : "it makes too long a text or list";
  }
  if (cause instanceof TemplateFault && cause.line !== null)
    return cut(`line ${cause.line}: ${cause.message}`);
  return cut(cause instanceof Error ? cause.message : String(cause));
}
