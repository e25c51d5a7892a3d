// Checks that a model can be served, by its files: configuration and family, tokenizer, chat template, and each
// tensor's type, shape and position in its file. Does not run the model.
import { join } from "node:path";
import { rm } from "node:fs/promises";
import { systemClock } from "../../../base/domain/clock.ts";
import { writeGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readServedConfig } from "../../architectures/config/served-config.ts";
import { checkWeights } from "../../architectures/weights.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";

/**
 * Checks the files of a folder in the Hugging Face layout, but not the weights.
 *
 * @param options.isForVllm true if only vLLM computes the model, which may then be of any family
 * @throws ServiceError naming the unsupported part
 */
export async function checkDescriptions(
  folder: string,
  { isForVllm = false }: { readonly isForVllm?: boolean } = {},
): Promise<void> {
  if (isForVllm) readServedConfig(folder);
  else readModelConfig(folder);
  await loadTokenizer(folder);
  await loadChatTemplate(folder, { clock: systemClock });
}

/**
 * Checks all files of a folder in the Hugging Face layout, including the weights. Throws the errors of {@link
 * checkDescriptions}.
 */
export async function checkFolder(folder: string): Promise<void> {
  await checkDescriptions(folder);
  checkWeights(folder, readModelConfig(folder));
}

/**
 * Checks the model in a GGUF file. If the file is split, checks all its parts.
 *
 * @param scratch a folder for temporary files
 * @throws ServiceError the errors of {@link checkDescriptions}
 */
export async function checkGguf(file: string, scratch: string): Promise<void> {
  const folder = join(scratch, ".checked");
  try {
    writeGgufFolder(file, folder);
    await checkFolder(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
