// Makes the prompts of one base model in threads of its own, so that no template and no text holds up the event loop.
// Small ones have a thread that the others hold for moments only: what turns out not to be small goes on among the large.
// A template of a request, which may be anything, is run in a process of its own, and only its text comes here.
import { present, unreachable } from "../../../base/domain/assert.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import { WorkerPool, type TaskOptions } from "../../../base/processes/worker-pool.ts";
import { TaskTimeout } from "../../../base/processes/worker-thread.ts";
import { promptName, promptRefusal } from "../../chat-templates/prompt-faults.ts";
import { renderedTooSlowly, type RenderLimits } from "../../chat-templates/render-prompt.ts";
import { graceMs, hasBrokenWorker } from "./broken-worker.ts";
import { promptLimits, type PromptLimits } from "./prompt-limits.ts";
import type { PromptModel, PromptTasks } from "./prompt-tasks.ts";
import { createRequestTemplates, type TemplatedPrompt } from "./request-templates.ts";
import {
  askedKind,
  writeTokenIds,
  type PromptTask,
  type PromptWriter,
  type WrittenPrompt,
} from "./write-prompt.ts";

type Pool = WorkerPool<PromptTasks, PromptModel>;

export interface PromptThreads extends PromptWriter, Service {
  readonly waitingCount: number;
}

/** The most that is small, in characters of texts and names and in values; about 15 ms of work, 60 ms at worst. */
const smallSize = 16_384;
/** What a small conversation may take to render before it counts as large. */
const smallRenderMs = 50;
/** The same where the renderer does not notice the time, and for tokenizing: the thread is then started anew. */
const smallStageMs = [150, 1000];
/**
 * More than a template can fill in its time. V8 ends the whole process where one allocation goes far beyond a thread's
 * limit, so what bounds a template's memory is its time and the longest value it may make.
 */
const memoryMebibytes = 4096;

/** Threads for a model whose tokenizer and template are known to be good. */
export function createPromptThreads(model: PromptModel, given: Partial<PromptLimits> = {}): PromptThreads {
  const { renderMs, encodeMs, renderedCharacters, waitingMax, waitMs, ...others } = {
    ...promptLimits,
    ...given,
  };
  const limits: RenderLimits = { timeMs: renderMs, lengthMax: renderedCharacters };
  const smallLimits: RenderLimits = {
    timeMs: Math.min(smallRenderMs, renderMs),
    lengthMax: Math.min(smallSize, renderedCharacters),
  };
  const worker = {
    data: model,
    workerCount: 1,
    line: { lengthMax: waitingMax, waitMs },
  };
  const threadFor = (stageMs: readonly number[]): Pool =>
    new WorkerPool({
      ...worker,
      module: new URL("./prompt-tasks.js", import.meta.url),
      stageMs,
      memoryMebibytes,
    });
  const small = threadFor(smallStageMs);
  const large = threadFor([renderMs + graceMs, encodeMs]);
  const templates = createRequestTemplates(worker, limits, others);

  const trySmall = async (task: PromptTask, options: TaskOptions): Promise<WrittenPrompt | null> => {
    try {
      return await run(small, { asked: task, limits: smallLimits, isTrial: true }, options);
    } catch (error) {
      if (hasBrokenWorker(error)) return null;
      throw error;
    }
  };
  const writeLarge = async (task: PromptTask, options: TaskOptions): Promise<WrittenPrompt | null> => {
    try {
      return await run(large, { asked: task, limits, isTrial: false }, options);
    } catch (error) {
      throw hasBrokenWorker(error) ? refusal(error, task, limits, encodeMs) : error;
    }
  };
  const life = serviceOf("prompt threads", {
    // Nobody waits: the first request finds it up, or waits for it.
    start: async () => small.prepare(),
    stop: async () => void (await Promise.all([small.close(), large.close(), templates.close()])),
  });
  return {
    ...life,
    write: async (asked, options) => {
      const { prompt } = asked;
      // Looked through in less time than it is handed to a thread.
      const ready = writeTokenIds(asked);
      if (ready !== null) return ready;
      const task = bringsTemplate(prompt)
        ? { ...asked, prompt: await templates.render(prompt, options) }
        : asked;
      requireCuttable(task, others);
      const written = isWithin(smallSize, task) ? await trySmall(task, options) : null;
      return written ?? present(await writeLarge(task, options), "the result of what is no trial");
    },
    read: async (tokenIds, options) => {
      const ids = Int32Array.from(tokenIds);
      const pool = ids.length <= smallSize ? small : large;
      return await pool.run("read", ids, { ...options, transfer: [ids.buffer] });
    },
    get waitingCount() {
      return small.waitingCount + large.waitingCount + templates.waitingCount;
    },
  };
}

function bringsTemplate(prompt: PromptTask["prompt"]): prompt is TemplatedPrompt {
  return prompt.kind === "conversation" && prompt.template !== null;
}

/** What does not fit is refused before it is tokenized, but not where the end of it is to be kept. */
function requireCuttable(task: PromptTask, { cutCharacters }: Pick<PromptLimits, "cutCharacters">): void {
  const { fit, prompt } = task;
  if (fit.purpose !== "answer" || fit.keepLast === null || isWithin(cutCharacters, task)) return;
  const kind = askedKind(prompt);
  const message = `The ${promptName(kind)} cannot be cut: there are more than ${cutCharacters} characters, the most of which the last tokens are kept. Send less text.`;
  throw promptRefusal(kind, message);
}

async function run(
  pool: Pool,
  task: PromptTasks["write"]["task"],
  options: TaskOptions,
): Promise<WrittenPrompt | null> {
  const result = await pool.run("write", task, options);
  return result === null ? null : { ...result, tokenIds: Array.from(result.tokenIds) };
}

function refusal(
  error: ServiceError,
  { prompt }: PromptTask,
  limits: RenderLimits,
  encodeMs: number,
): ServiceError {
  if (error instanceof TaskTimeout && error.stage === 0) return renderedTooSlowly(limits);
  const what =
    error instanceof TaskTimeout
      ? `tokenized within ${encodeMs / 1000} s`
      : `rendered in ${memoryMebibytes} MiB of memory`;
  const kind = askedKind(prompt);
  const message = `The ${promptName(kind)} cannot be ${what}. Send less text, and no word of many thousand letters.`;
  return promptRefusal(kind, message);
}

/** Whether the texts, names and values of a task are at most `max` together; counts no further. */
function isWithin(max: number, { prompt, badWords }: PromptTask): boolean {
  let left = max;
  const count = (value: unknown): boolean => {
    left -= typeof value === "string" ? value.length : 1;
    if (left < 0) return false;
    if (typeof value !== "object" || value === null) return true;
    if (Array.isArray(value)) return value.every(count);
    return Object.entries(value).every(([name, member]) => {
      left -= name.length;
      return count(member);
    });
  };
  return [...contentOf(prompt), badWords].every(count);
}

function contentOf(prompt: PromptTask["prompt"]): readonly unknown[] {
  switch (prompt.kind) {
    case "conversation":
      return [prompt.messages, prompt.tools, prompt.documents, prompt.templateArguments];
    case "text":
    case "rendered":
      return [prompt.text];
    case "tokens":
      return [prompt.tokenIds];
    default:
      return unreachable(prompt);
  }
}
