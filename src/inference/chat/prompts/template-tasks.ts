// Renders conversations with templates that come with requests, for one base model, in a process that does nothing
// else. The limits in this module apply to every template; if they fail to stop a template, the pool ends the process.
import { setPriority } from "node:os";
import { createContext, Script } from "node:vm";
import { chatFault, plainConversation, type Conversation } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { trialWallMs, wallTimeFactor } from "./worker-limits.ts";
import { RenderLimitError } from "../../chat-templates/prompt-faults.ts";
import type { PromptModel } from "./prompt-tasks.ts";
import {
  renderConversation,
  renderTimeoutError,
  type RenderLimits,
} from "../../chat-templates/render-prompt.ts";

export interface TemplateTask {
  readonly source: string;
  readonly conversation: Conversation;
  readonly limits: RenderLimits;
  /**
   * If true, the render is a trial: when it exceeds a limit, it ends without a result, so that the caller can repeat it
   * in another process. If false, the template is refused when it exceeds a limit.
   */
  readonly isTrial: boolean;
}

export interface TemplateTasks {
  /** The rendered text; null for a trial that reached a limit. */
  readonly render: { readonly task: TemplateTask; readonly result: string | null };
}

/** Clock for limits. It measures processor time, so that a busy machine does not make a template fail. */
const clock = { ...systemClock, monotonicMs: processorMs };

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export async function openTasks({ folder }: PromptModel): Promise<TaskHandlers<TemplateTasks>> {
  // Lowers the priority of this process, because any client may send a template, and rendering it must not slow down
  // answers.
  setPriority(10);
  const modelTemplate = await loadChatTemplate(folder, { clock });
  // Warms up the process. Code is loaded and compiled at its first use, which must neither be interrupted nor count
  // against the first template's limit.
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
 * Runs `work` with a time limit. The limit also interrupts work that does not check its own limits, such as parsing a
 * template. It works even if the parent of this process has died.
 */
function withinTime({ limits, isTrial }: TemplateTask, work: () => string): string {
  context["work"] = work;
  try {
    // Safe cast: the script returns the result of `work`.
    return call.runInContext(context, {
      timeout: Math.ceil(isTrial ? trialWallMs : wallTimeFactor * limits.timeMs),
    }) as string;
  } catch (error) {
    // `instanceof` does not work for this error, because the script's context has its own class `Error`.
    const isTimeUp =
      typeof error === "object" &&
      error !== null &&
      "code" in error &&
      error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw isTimeUp ? renderTimeoutError(limits) : error;
  }
}

/** Locates an error at the field `prompt.template`, unless the error already names a message at fault. */
function atTemplate(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  if (error.faults.length > 0 && !(error instanceof RenderLimitError)) return error;
  const { code, message } = error;
  const faults = [chatFault("prompt.template", { message, type: "value_error" })];
  return new ServiceError({ code, faults, cause: error });
}
