// The worker that makes prompts for one base model, whose folder is its data.
import { serveTasks, taskData } from "../../processes/serve-tasks.ts";
import { loadChatTemplate } from "../../tokenizer/load-chat-template.ts";
import { loadTokenizer } from "../../tokenizer/load-tokenizer.ts";
import { RenderLimitError, type RenderLimits } from "../../tokenizer/render-prompt.ts";
import { writePrompt, type PromptTask } from "./write-prompt.ts";

/** A task in two stages: rendering, tokenizing. */
export interface ThreadTask {
  readonly task: PromptTask;
  readonly limits: RenderLimits;
  /** Another thread tries what reaches a limit here. */
  readonly isTrial: boolean;
}

/** Null where a trial has reached a limit. */
export type ThreadResult = {
  readonly tokenIds: Int32Array<ArrayBuffer>;
  readonly badWordIds: readonly (readonly number[])[];
} | null;

// Only prompt threads start this worker.
const folder = taskData() as string;
const [tokenizer, template] = await Promise.all([loadTokenizer(folder), loadChatTemplate(folder)]);

function write({ task, limits }: ThreadTask, onRendered: () => void): NonNullable<ThreadResult> {
  const written = writePrompt(tokenizer, template, task, { limits, onRendered });
  return { ...written, tokenIds: Int32Array.from(written.tokenIds) };
}

serveTasks((sent, beginNextStage) => {
  const task = sent as ThreadTask;
  try {
    const result = write(task, beginNextStage);
    return { result, transfer: [result.tokenIds.buffer] };
  } catch (error) {
    if (task.isTrial && error instanceof RenderLimitError) return { result: null, transfer: [] };
    throw error;
  }
});
