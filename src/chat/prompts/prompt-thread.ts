// The worker that makes prompts for one base model.
import { serveTasks, taskData } from "../../processes/serve-tasks.ts";
import { loadChatTemplate } from "../../tokenizer/load-chat-template.ts";
import { loadTokenizer } from "../../tokenizer/load-tokenizer.ts";
import { RenderLimitError, type RenderLimits } from "../../tokenizer/render-prompt.ts";
import { readTokens, writePrompt, type PromptTask, type WrittenPrompt } from "./write-prompt.ts";

/** The worker's data. */
export interface PromptModel {
  readonly folder: string;
  /** Whether tools are shown in the system message, whatever the model's template would make of them. */
  readonly toolsAsText: boolean;
}

/** A task in two stages: rendering, tokenizing. */
export interface WriteTask {
  readonly kind: "write";
  readonly task: PromptTask;
  readonly limits: RenderLimits;
  /** Another thread tries what reaches a limit here. */
  readonly isTrial: boolean;
}

/** Answered with the text. */
export interface ReadTask {
  readonly kind: "read";
  readonly tokenIds: Int32Array<ArrayBuffer>;
}

/** Null where a trial has reached a limit. */
export type WriteResult =
  | (Omit<WrittenPrompt, "tokenIds"> & { readonly tokenIds: Int32Array<ArrayBuffer> })
  | null;

// Only prompt threads start this worker.
const { folder, toolsAsText } = taskData() as PromptModel;
const [tokenizer, template] = await Promise.all([
  loadTokenizer(folder),
  loadChatTemplate(folder, { toolsAsText }),
]);

function write({ task, limits }: WriteTask, onRendered: () => void): NonNullable<WriteResult> {
  const written = writePrompt(tokenizer, template, task, { limits, onRendered });
  return { ...written, tokenIds: Int32Array.from(written.tokenIds) };
}

serveTasks((sent, beginNextStage) => {
  const task = sent as WriteTask | ReadTask;
  if (task.kind === "read") {
    beginNextStage();
    return { result: readTokens(tokenizer, Array.from(task.tokenIds)), transfer: [] };
  }
  try {
    const result = write(task, beginNextStage);
    return { result, transfer: [result.tokenIds.buffer] };
  } catch (error) {
    if (task.isTrial && error instanceof RenderLimitError) return { result: null, transfer: [] };
    throw error;
  }
});
