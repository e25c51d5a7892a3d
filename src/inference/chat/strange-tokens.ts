// Token ids of a request that the model does not have, refused field by field. Those of the prompt are looked at where it
// is made.
import { chatFault, type ChatField, type ChatRequest } from "../../base/domain/chat.ts";
import { cut, ServiceError, type Fault } from "../../base/domain/service-error.ts";

/**
 * @param resolved.badWordIds the tokens of the request's bad words
 * @throws ServiceError `unsupported` naming every field that holds such ids
 */
export function refuseStrangeTokens(
  { sampling, stopping }: ChatRequest,
  resolved: { readonly badWordIds: readonly (readonly number[])[]; readonly vocabularySize: number },
): void {
  const { badWordIds, vocabularySize } = resolved;
  const faults = (
    field: ChatField,
    ids: readonly number[],
    messageOf: (strange: string) => string,
  ): readonly Fault[] => {
    const strange = ids.filter((id) => id >= vocabularySize);
    if (strange.length === 0) return [];
    const message = messageOf(cut(`[${strange.join(", ")}]`));
    return [chatFault(field, { message, type: "value_error" })];
  };
  const limit = `Vocabulary size: ${vocabularySize}; use ids below it.`;
  const all = [
    ...faults(
      "sampling.logitBias",
      (sampling.logitBias ?? []).map(([id]) => id),
      (strange) =>
        `token_id(s) ${strange} in \`sampling.logitBias\` contain out-of-vocab token ids. ${limit}`,
    ),
    ...faults(
      "sampling.allowedTokenIds",
      sampling.allowedTokenIds ?? [],
      (strange) => `\`sampling.allowedTokenIds\` contains out-of-vocab token id! ${strange}. ${limit}`,
    ),
    ...faults(
      "sampling.badWords",
      badWordIds.flat(),
      (strange) =>
        `The model vocabulary size is ${vocabularySize}, but the following tokens were specified as bad: ${strange}. Leave out the words that are spelled with them.`,
    ),
    ...faults(
      "stopping.stopTokenIds",
      stopping.stopTokenIds,
      (strange) => `\`stopping.stopTokenIds\` contains out-of-vocab token ids ${strange}. ${limit}`,
    ),
  ];
  if (all.length > 0) throw new ServiceError({ code: "unsupported", faults: all });
}
