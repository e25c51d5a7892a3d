// Checks that a model's files can be served: configuration and family, tokenizer, chat template, and each tensor's
// type, shape and place in its file. Does not run the model.
import { join } from "node:path";
import { rm } from "node:fs/promises";
import { systemClock } from "../../../base/domain/clock.ts";
import { writeGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { checkWeights } from "../../architectures/weights.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";

/**
 * Checks a folder in the Hugging Face layout, except its weights.
 *
 * @throws ServiceError naming the unsupported part
 */
export async function checkDescriptions(folder: string): Promise<void> {
  readModelConfig(folder);
  await loadTokenizer(folder);
  await loadChatTemplate(folder, { clock: systemClock });
}

/** Checks all of a folder in the Hugging Face layout; throws as {@link checkDescriptions}. */
export async function checkFolder(folder: string): Promise<void> {
  await checkDescriptions(folder);
  checkWeights(folder, readModelConfig(folder));
}

/**
 * Checks the model in a GGUF file, with all parts of the file.
 *
 * @param scratch a folder that may be written to
 * @throws ServiceError as {@link checkDescriptions}
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
