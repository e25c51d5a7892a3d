// Tasks of one base model's prompt threads: writing prompts, and converting tokens back into text.
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { RenderLimitError } from "../../chat-templates/prompt-faults.ts";
import type { RenderLimits } from "../../chat-templates/render-prompt.ts";
import { readTokens, writePrompt, type PromptTask, type WrittenPrompt } from "./write-prompt.ts";

/** Data that a prompt thread receives when it starts. */
export interface PromptModel {
  readonly folder: string;
  /** True to always show tools in the system message, regardless of the model's template. */
  readonly toolsAsText: boolean;
}

/** Tasks of a prompt thread; `write` has two stages, rendering and tokenizing. */
export interface PromptTasks {
  readonly write: {
    readonly task: {
      readonly asked: PromptTask;
      readonly limits: RenderLimits;
      /** True for a trial: if the task reaches a limit, another thread tries it again. */
      readonly isTrial: boolean;
    };
    /** The prompt; null if a trial reached a limit. */
    readonly result:
      | (Omit<WrittenPrompt, "tokenIds"> & { readonly tokenIds: Int32Array<ArrayBuffer> })
      | null;
  };
  readonly read: { readonly task: Int32Array<ArrayBuffer>; readonly result: string };
}

export async function openTasks({ folder, toolsAsText }: PromptModel): Promise<TaskHandlers<PromptTasks>> {
  const [tokenizer, template] = await Promise.all([
    loadTokenizer(folder),
    loadChatTemplate(folder, { toolsAsText }),
  ]);
  return {
    write({ asked, limits, isTrial }, onRendered) {
      try {
        const written = writePrompt(tokenizer, template, asked, { limits, onRendered });
        return { ...written, tokenIds: Int32Array.from(written.tokenIds) };
      } catch (error) {
        if (isTrial && error instanceof RenderLimitError) return null;
        throw error;
      }
    },
    read(tokenIds, beginNextStage) {
      beginNextStage();
      return readTokens(tokenizer, Array.from(tokenIds));
    },
  };
}
