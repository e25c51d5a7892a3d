// Jinja2 templates with the settings that Hugging Face and vLLM use for chats: trimmed blocks, no escaping, loop
// controls, generation blocks, immutable values. This module does not depend on the format of messages.
import type { Clock } from "../../base/domain/clock.ts";
import { Budget, type ProgramLimits } from "./budget.ts";
import { TemplateFault } from "./fault.ts";
import { filters } from "./filters/filters.ts";
import { tests } from "./filters/tests.ts";
import { globalsOf } from "./run/globals.ts";
import { Interpreter } from "./run/interpreter.ts";
import { Scope } from "./run/scope.ts";
import { type Body, requireKnown } from "./syntax/nodes.ts";
import { parseTemplate } from "./syntax/parser.ts";
import type { Value } from "./values/value.ts";

export interface Template {
  /** Syntax tree of the template. */
  readonly body: Body;
  /**
   * Renders the template.
   *
   * @throws TemplateFault with the line where it failed; TemplateRaised if the template raises; the errors of
   * `limits`; RangeError if its values are nested too deeply for the stack
   */
  render(variables: Iterable<readonly [string, Value]>, limits?: ProgramLimits): string;
}

/**
 * Compiles a template.
 *
 * @throws TemplateFault with its line for invalid syntax; RangeError if it is nested too deeply
 */
export function compileTemplate(source: string, clock: Clock): Template {
  const body = parseTemplate(source);
  requireKnown(body, { filters, tests });
  return {
    body,
    render: (variables, limits) => {
      const run = new Interpreter(new Budget(limits ?? null, clock));
      const scope = new Scope(null, [...globalsOf(clock, run), ...variables]);
      try {
        return run.render(body, scope);
      } catch (error) {
        if (error instanceof TemplateFault) error.line ??= run.line;
        throw error;
      }
    },
  };
}
