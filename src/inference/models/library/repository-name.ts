// Name of a model on the hub as users write it: `owner/name`, optionally with a quantization and a revision.
import { invalid } from "../../../base/domain/service-error.ts";

export interface RepositoryName {
  /** Name of the repository, as `owner/name`. */
  readonly repository: string;
  /** Quantization, such as `Q4_1`; null to select the repository's safetensors or its only GGUF model. */
  readonly quantization: string | null;
  /** Revision of the repository: a branch, a tag or a commit. */
  readonly revision: string;
}

const pattern =
  /^(?:https:\/\/(?:huggingface\.co|hf\.co)\/|hf\.co\/)?(?<repository>[A-Za-z0-9][\w.-]{0,95}\/[A-Za-z0-9][\w.-]{0,95})(?::(?<quantization>[\w.-]{1,40}))?(?:@(?<revision>[A-Za-z0-9][\w./-]{0,199}))?\/?$/;

/**
 * Parses `owner/name[:kind][@revision]`. Also accepts the URL of a repository's page.
 *
 * @throws ServiceError `invalid` with the expected form
 */
export function parseRepositoryName(text: string): RepositoryName {
  const { repository, quantization = null, revision = "main" } = pattern.exec(text)?.groups ?? {};
  if (repository === undefined || revision.includes("..")) {
    throw invalid(
      `${JSON.stringify(text)} is neither a file or folder here, nor a model of the hub. Write owner/name, such as HuggingFaceTB/SmolLM2-135M-Instruct, owner/name:Q4_K_M for one of its GGUF files, and append @revision for a revision other than main.`,
    );
  }
  return { repository, quantization, revision };
}

/** Returns the name that the model gets by default. */
export function defaultModelName({ repository }: RepositoryName, quantization: string | null): string {
  const name = (repository.split("/")[1] ?? "").replace(/[._-]gguf$/i, "");
  return quantization === null ? name : `${name}-${quantization}`;
}
