// Renders conversations with templates of requests, for one base model, in a process that does nothing else. Limits
// here bound an arbitrary template; if they fail, the pool ends the process.
import { setPriority } from "node:os";
import { createContext, Script } from "node:vm";
import { chatFault, plainConversation, type Conversation } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { trialWallMs } from "./worker-limits.ts";
import type { PromptModel } from "./prompt-tasks.ts";
import {
  RenderLimitError,
  renderConversation,
  renderTimeoutError,
  type RenderLimits,
} from "../../chat-templates/render-prompt.ts";

export interface TemplateTask {
  readonly source: string;
  readonly conversation: Conversation;
  readonly limits: RenderLimits;
  /** True if exceeding a limit leads to a retry elsewhere, rather than a refusal. */
  readonly isTrial: boolean;
}

export interface TemplateTasks {
  /** The rendered text; null for a trial that reached a limit. */
  readonly render: { readonly task: TemplateTask; readonly result: string | null };
}

/** A trial is limited by processor time, so that small templates stay small on a busy machine. */
const clock = { ...systemClock, monotonicMs: processorMs };

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export async function openTasks({ folder }: PromptModel): Promise<TaskHandlers<TemplateTasks>> {
  // Lower priority than answers, since any client may run templates here.
  setPriority(10);
  const modelTemplate = await loadChatTemplate(folder, { clock });
  // Warm-up: first-use loading and compilation must not be interrupted, or charged to the first template.
  const greeting = { ...plainConversation, messages: [{ role: "user", content: "Hi" }] };
  renderConversation(modelTemplate.withSource("{{ messages | tojson }}"), greeting);
  return {
    render(task) {
      const { source, conversation, limits, isTrial } = task;
      try {
        return withinTime(task, () =>
          renderConversation(modelTemplate.withSource(source), conversation, limits),
        );
      } catch (error) {
        if (isTrial && error instanceof RenderLimitError) return null;
        throw atTemplate(error);
      }
    },
  };
}

const context = createContext({ work: null as unknown });
const call = new Script("work()");

/**
 * Interrupts work that does not check its limits, such as parsing a template, even if this process has lost its
 * parent.
 */
function withinTime({ limits, isTrial }: TemplateTask, work: () => string): string {
  context["work"] = work;
  try {
    // Safe cast: the script returns the result of `work`.
    return call.runInContext(context, {
      timeout: Math.ceil(isTrial ? trialWallMs : limits.timeMs),
    }) as string;
  } catch (error) {
    // Not an instance of our Error: the other context has a separate class.
    const isTimeUp =
      typeof error === "object" &&
      error !== null &&
      "code" in error &&
      error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw isTimeUp ? renderTimeoutError(limits) : error;
  }
}

/** Reports faults of the template, rather than of a message, at the template. */
function atTemplate(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  if (error.faults.length > 0 && !(error instanceof RenderLimitError)) return error;
  const { code, message } = error;
  const faults = [chatFault("prompt.template", { message, type: "value_error" })];
  return new ServiceError({ code, faults, cause: error });
}
