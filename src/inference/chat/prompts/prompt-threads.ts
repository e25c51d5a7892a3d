// Writes the prompts of one base model in separate threads, so that no template or text blocks the event loop. One
// thread writes small prompts; a prompt that takes too long there moves to another thread, for large prompts. A
// template that comes with a request runs in a separate process, which returns only the rendered text.
import { present, unreachable } from "../../../base/domain/assert.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import { WorkerPool, type TaskOptions } from "../../../base/processes/worker-pool.ts";
import { TaskTimeout } from "../../../base/processes/worker-thread.ts";
import { promptName, promptRefusal } from "../../chat-templates/prompt-faults.ts";
import { renderTimeoutError, type RenderLimits } from "../../chat-templates/render-prompt.ts";
import { graceMs, exceededWorkerLimit } from "./worker-limits.ts";
import { promptLimits, type PromptLimits } from "./prompt-limits.ts";
import type { PromptModel, PromptTasks } from "./prompt-tasks.ts";
import { createRequestTemplates, type TemplatedPrompt } from "./request-templates.ts";
import {
  requestedKind,
  writeTokenIds,
  type PromptTask,
  type PromptWriter,
  type WrittenPrompt,
} from "./write-prompt.ts";

type Pool = WorkerPool<PromptTasks, PromptModel>;

export interface PromptThreads extends PromptWriter, Service {
  readonly waitingCount: number;
}

/**
 * Maximum size of a small prompt: the number of characters in its texts and names, plus the number of its values.
 * Writing such a prompt takes about 15 ms, at worst 60 ms.
 */
const smallSize = 16_384;
/**
 * Maximum rendering time of a small conversation in milliseconds. If rendering takes longer, the conversation is
 * treated as large.
 */
const smallRenderMs = 50;
/**
 * Time limits in milliseconds of the two stages of a small prompt, rendering and tokenizing. The limit of rendering
 * applies only if the renderer fails to stop at its own limit. Exceeding a limit restarts the thread.
 */
const smallStageMs = [150, 1000];
/**
 * Heap limit of a prompt thread in mebibytes, deliberately higher than a template can reach within its time limit. V8
 * ends the whole process if an allocation far exceeds a thread's limit. A template's memory is therefore bounded by its
 * time limit and the maximum length of a value.
 */
const memoryMebibytes = 4096;

/**
 * Creates the prompt threads of a model. The model's tokenizer and template must already have been loaded once without
 * errors.
 */
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
      if (exceededWorkerLimit(error)) return null;
      throw error;
    }
  };
  const writeLarge = async (task: PromptTask, options: TaskOptions): Promise<WrittenPrompt | null> => {
    try {
      return await run(large, { asked: task, limits, isTrial: false }, options);
    } catch (error) {
      throw exceededWorkerLimit(error) ? refusal(error, task, limits, encodeMs) : error;
    }
  };
  const life = serviceOf("prompt threads", {
    // Does not wait until the thread is ready. If it is not, the first request waits.
    start: async () => small.prepare(),
    stop: async () => void (await Promise.all([small.close(), large.close(), templates.close()])),
  });
  return {
    ...life,
    write: async (asked, options) => {
      const { prompt } = asked;
      // Prompts that are token ids are checked in this thread, because passing the ids to another thread would take
      // longer.
      const ready = writeTokenIds(asked);
      if (ready !== null) return ready;
      const task = bringsTemplate(prompt)
        ? { ...asked, prompt: await templates.render(prompt, options) }
        : asked;
      requireCuttable(task, others);
      const written = isWithin(smallSize, task) ? await trySmall(task, options) : null;
      return written ?? present(await writeLarge(task, options), "the result of a full run");
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

/** Refuses a prompt that is too long to be truncated, because truncation must first tokenize the whole text. */
function requireCuttable(task: PromptTask, { cutCharacters }: Pick<PromptLimits, "cutCharacters">): void {
  const { fit, prompt } = task;
  if (fit.purpose !== "answer" || fit.keepLast === null || isWithin(cutCharacters, task)) return;
  const kind = requestedKind(prompt);
  const message = `The ${promptName(kind)} cannot be truncated: more than ${cutCharacters} characters are too long for that. Send less text.`;
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
  if (error instanceof TaskTimeout && error.stage === 0) return renderTimeoutError(limits);
  const what =
    error instanceof TaskTimeout
      ? `tokenized within ${encodeMs / 1000} s`
      : `rendered in ${memoryMebibytes} MiB of memory`;
  const kind = requestedKind(prompt);
  const message = `The ${promptName(kind)} cannot be ${what}. Send less text, and no word of many thousand letters.`;
  return promptRefusal(kind, message);
}

/**
 * True if the characters of a task's texts and names, plus its number of values, are at most `max`. Stops counting once
 * they are more.
 */
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
