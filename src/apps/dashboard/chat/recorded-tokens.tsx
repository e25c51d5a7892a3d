// Tokens of an answer that was read from the page's address, which has no tokens. The server has recorded them if a trained
// model answered.
import type { Hone } from "../../client/hone.ts";
import { TokenText } from "../trajectories/token-text.tsx";
import { branchesOf } from "../trajectories/turns.ts";
import { useLoaded } from "../use-loaded.ts";
import { Markdown } from "./markdown.tsx";

export function RecordedTokens({
  hone,
  id,
  text,
  label,
}: {
  readonly hone: Hone;
  /** Id of the completion. */
  readonly id: string;
  /** The answer, which is shown without colours if its tokens are not recorded. */
  readonly text: string;
  readonly label: string;
}) {
  const { value, failure } = useLoaded(
    async (signal) => {
      const { choices } = await hone.recordings.get(id, {}, { signal });
      const [branch] = branchesOf({ messages_and_choices: [...choices], tools: null });
      return { tokens: branch?.turns[0]?.tokens ?? null };
    },
    [hone, id],
  );
  if (value?.tokens) return <TokenText tokens={value.tokens} label={label} />;
  return (
    <>
      <Markdown text={text} />
      {(value !== null || failure !== null) && (
        <p class="muted">
          The probabilities of this answer's tokens were not recorded. Ask again to see them.
        </p>
      )}
    </>
  );
}
