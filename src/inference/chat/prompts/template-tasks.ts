// Renders conversations with templates of requests, for one base model, in a process that does nothing else. A template may
// be anything: what it may take is bounded here, and by the pool, which ends the process where that fails.
import { setPriority } from "node:os";
import { createContext, Script } from "node:vm";
import { chatFault, plainConversation, type Conversation } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { trialWallMs } from "./broken-worker.ts";
import type { PromptModel } from "./prompt-tasks.ts";
import {
  RenderLimitError,
  renderConversation,
  renderedTooSlowly,
  type RenderLimits,
} from "../../chat-templates/render-prompt.ts";

export interface TemplateTask {
  readonly source: string;
  readonly conversation: Conversation;
  readonly limits: RenderLimits;
  /** Whether what does not end within the limits is tried again elsewhere, rather than refused. */
  readonly isTrial: boolean;
}

export interface TemplateTasks {
  /** To the text; null for a trial that came to a limit. */
  readonly render: { readonly task: TemplateTask; readonly result: string | null };
}

/** A trial's time is the processor's: on a busy machine what is small is small too. */
const clock = { ...systemClock, monotonicMs: processorMs };

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export async function openTasks({ folder }: PromptModel): Promise<TaskHandlers<TemplateTasks>> {
  // What anybody may have computed here takes no time from answers.
  setPriority(10);
  const modelTemplate = await loadChatTemplate(folder, { clock });
  // What is loaded or compiled at its first use is not to be broken off, nor to take the time of the first template.
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
 * Ends what does not look at its limits itself, such as the reading of a template, also where this process has lost its
 * parent.
 */
function withinTime({ limits, isTrial }: TemplateTask, work: () => string): string {
  context["work"] = work;
  try {
    // The script returns what `work` does.
    return call.runInContext(context, {
      timeout: Math.ceil(isTrial ? trialWallMs : limits.timeMs),
    }) as string;
  } catch (error) {
    // It is no Error of ours: the other context has a class of its own.
    const isTimeUp =
      typeof error === "object" &&
      error !== null &&
      "code" in error &&
      error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw isTimeUp ? renderedTooSlowly(limits) : error;
  }
}

/** What is wrong with the template, rather than with a message, is said of the template. */
function atTemplate(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  if (error.faults.length > 0 && !(error instanceof RenderLimitError)) return error;
  const { code, message } = error;
  const faults = [chatFault("prompt.template", { message, type: "value_error" })];
  return new ServiceError({ code, faults, cause: error });
}
