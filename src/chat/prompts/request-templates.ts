// Templates that requests bring, which may be anything: each is read and run in a process that serves nothing else, within
// limits, and ended with it where that is needed. What is rendered is tokenized elsewhere.
import { chatFault, type ConversationPrompt } from "../../domain/chat.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { TaskOptions, WorkerPool, WorkerPoolOptions } from "../../processes/worker-pool.ts";
import { renderedTooSlowly, type RenderLimits } from "../../tokenizer/render-prompt.ts";
import type { ChatSettings } from "../settings.ts";
import { graceMs, hasBrokenWorker } from "./broken-worker.ts";
import type { TemplateTask } from "./template-process.ts";
import type { RenderedPrompt } from "./write-prompt.ts";

/** A prompt that brings a template. */
export type TemplatedPrompt = ConversationPrompt & { readonly template: string };

export interface RequestTemplates {
  /**
   * @throws ServiceError `unsupported` when the template is too long, has an error, raises (with its message), refuses the
   * messages or reaches a limit; else as {@link WorkerPool.run}
   */
  render(prompt: TemplatedPrompt, options: TaskOptions): Promise<RenderedPrompt>;
  close(): Promise<void>;
  readonly waitingCount: number;
}

const memoryMebibytes = 512;

/** @param newPool a pool of one worker with the data of a prompt thread, and a line of its own */
export function createRequestTemplates(
  newPool: (worker: Pick<WorkerPoolOptions, "module" | "stageMs"> & Partial<WorkerPoolOptions>) => WorkerPool,
  limits: RenderLimits,
  { templateCharacters }: ChatSettings,
): RequestTemplates {
  const pool = newPool({
    module: new URL("./template-process.js", import.meta.url),
    isProcess: true,
    stageMs: [limits.time.ms + graceMs],
    memoryMebibytes,
  });
  return {
    render: async (prompt, options) => {
      const { template: source, addSpecialTokens } = prompt;
      if (source.length > templateCharacters) throw tooLong(source.length, templateCharacters);
      try {
        const task: TemplateTask = { source, conversation: prompt, limits };
        // The worker's module returns nothing else.
        const text = (await pool.run(task, [], options)) as string;
        return { kind: "rendered", text, addSpecialTokens };
      } catch (error) {
        if (!hasBrokenWorker(error)) throw error;
        // The next template need not wait for the start of its process.
        pool.prepare();
        throw tookTooMuch(error, limits);
      }
    },
    close: () => pool.close(),
    get waitingCount() {
      return pool.waitingCount;
    },
  };
}

function tooLong(length: number, max: number): ServiceError {
  return refusal(
    `\`prompt.template\` has ${length} characters; at most ${max} are read (chat.templateCharacters).`,
  );
}

function tookTooMuch({ code }: ServiceError, { time }: RenderLimits): ServiceError {
  return code === "timeout"
    ? refusal(renderedTooSlowly(time).message)
    : refusal(`The chat template needs more than ${memoryMebibytes} MiB of memory; correct it.`);
}

function refusal(message: string): ServiceError {
  const faults = [chatFault("prompt.template", { message, type: "value_error" })];
  return new ServiceError({ code: "unsupported", faults });
}
