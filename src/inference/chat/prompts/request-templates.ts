// Renders templates that come with requests. They run in processes that do nothing else, within limits that are
// enforced by ending the process if necessary. Each template first gets a short trial; a slow template then moves to a
// separate pool, so that fast templates of other clients do not wait for it.
import { chatFault, type ConversationPrompt } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { WorkerPool, type TaskOptions, type WorkerPoolOptions } from "../../../base/processes/worker-pool.ts";
import { renderTimeoutError, type RenderLimits } from "../../chat-templates/render-prompt.ts";
import type { PromptLimits } from "./prompt-limits.ts";
import { exceededWorkerLimit, graceMs, trialWallMs, wallTimeFactor } from "./worker-limits.ts";
import type { PromptModel } from "./prompt-tasks.ts";
import type { TemplateTask, TemplateTasks } from "./template-tasks.ts";
import type { RenderedPrompt } from "./write-prompt.ts";

/** A conversation that brings its own template. */
export type TemplatedPrompt = ConversationPrompt & { readonly template: string };

type Pool = WorkerPool<TemplateTasks, PromptModel>;

export interface RequestTemplates {
  /**
   * Renders a conversation with the template that came with it.
   *
   * @throws ServiceError `unsupported` when the template is too long, has an error, raises an exception (with the
   * exception's message), refuses the messages or reaches a limit; else as {@link WorkerPool.run}
   */
  render(prompt: TemplatedPrompt, options: TaskOptions): Promise<RenderedPrompt>;
  close(): Promise<void>;
  readonly waitingCount: number;
}

const memoryMebibytes = 512;
/** Maximum processor time of a trial in milliseconds; most templates take a tenth of it. */
const trialMs = 30;

/**
 * Creates the two pools of processes that render templates for one base model.
 *
 * @param worker options as for prompt threads; each pool has a separate queue
 */
export function createRequestTemplates(
  worker: Pick<WorkerPoolOptions<PromptModel>, "data" | "workerCount" | "line">,
  limits: RenderLimits,
  { templateCharacters }: Pick<PromptLimits, "templateCharacters">,
): RequestTemplates {
  const processFor = (ms: number): Pool =>
    new WorkerPool({
      ...worker,
      module: new URL("./template-tasks.js", import.meta.url),
      isProcess: true,
      stageMs: [ms + graceMs],
      memoryMebibytes,
    });
  const quick = processFor(trialWallMs);
  const slow = processFor(wallTimeFactor * limits.timeMs);
  const trialLimits = { ...limits, timeMs: Math.min(trialMs, limits.timeMs) };

  /**
   * Renders in one of the pools. Returns null if a trial reached a limit; throws the worker's error in any other case.
   */
  const run = async (pool: Pool, task: TemplateTask, options: TaskOptions): Promise<string | null> => {
    try {
      return await pool.run("render", task, options);
    } catch (error) {
      // The template exceeded the worker's limit, which has ended the worker's process. A new process is started now,
      // so that the next template need not wait for it.
      if (exceededWorkerLimit(error)) pool.prepare();
      throw error;
    }
  };
  const tried = async (task: Omit<TemplateTask, "limits" | "isTrial">, options: TaskOptions) => {
    try {
      return await run(quick, { ...task, limits: trialLimits, isTrial: true }, options);
    } catch (error) {
      if (exceededWorkerLimit(error)) return null;
      throw error;
    }
  };
  return {
    render: async (prompt, options) => {
      const { template: source, addSpecialTokens } = prompt;
      if (source.length > templateCharacters) throw tooLong(source.length, templateCharacters);
      const task = { source, conversation: prompt };
      const rendered = (text: string): RenderedPrompt => ({ kind: "rendered", text, addSpecialTokens });
      const atOnce = await tried(task, options);
      if (atOnce !== null) return rendered(atOnce);
      try {
        return rendered((await run(slow, { ...task, limits, isTrial: false }, options)) ?? "");
      } catch (error) {
        throw exceededWorkerLimit(error) ? tookTooMuch(error, limits) : error;
      }
    },
    close: async () => {
      await Promise.all([quick.close(), slow.close()]);
    },
    get waitingCount() {
      return quick.waitingCount + slow.waitingCount;
    },
  };
}

function tooLong(length: number, max: number): ServiceError {
  return refusal(`\`prompt.template\` has ${length} characters; at most ${max} are read.`);
}

function tookTooMuch({ code }: ServiceError, limits: RenderLimits): ServiceError {
  return code === "timeout"
    ? refusal(renderTimeoutError(limits).message)
    : refusal(`The chat template needs more than ${memoryMebibytes} MiB of memory; correct it.`);
}

function refusal(message: string): ServiceError {
  const faults = [chatFault("prompt.template", { message, type: "value_error" })];
  return new ServiceError({ code: "unsupported", faults });
}
