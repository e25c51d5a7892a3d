// View of a recorded chat: its turns with their tokens, and feedback on the chat and on each choice.
import type { RecordedCompletion } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { FeedbackPanel } from "../feedback/feedback-panel.tsx";
import { isOnChoice } from "../feedback/references.ts";
import { shortNumber } from "../components/numbers.ts";
import { Facts, Shown, View, When } from "../components/shown.tsx";
import { RawJson } from "../trajectories/raw-json.tsx";
import { LevelLegend } from "../trajectories/token-text.tsx";
import { branchesOf } from "../trajectories/turns.ts";
import { TurnList } from "../trajectories/turn-view.tsx";
import { addressOf, place } from "../router.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";

export function RecordedChat({ hone, requestId }: { readonly hone: Hone; readonly requestId: string }) {
  const project = place.value.query.get("project") ?? "";
  const loaded = useLoaded(
    (signal) => hone.recordings.get(requestId, project === "" ? {} : { project }, { signal }),
    [hone, requestId, project],
  );
  return (
    <View title="Conversation">
      <nav class="links" aria-label="Conversations">
        <a href={addressOf("conversations")}>All</a>
      </nav>
      <Shown loaded={loaded}>
        {(chat) => (
          <div class="beside">
            <Turns chat={chat} />
            <aside>
              <About chat={chat} />
              <FeedbackPanel
                hone={hone}
                subject={{ projectId: chat.project_id, reference: chat.reference }}
                isElsewhere={(record) => chat.choices.length > 1 && isOnChoice(record, chat.choices.length)}
              />
              {chat.choices.length > 1 &&
                chat.choices.map(({ index }) => (
                  <FeedbackPanel
                    key={index}
                    hone={hone}
                    subject={{
                      projectId: chat.project_id,
                      reference: `${chat.reference}/attr/choices/index/${index}`,
                    }}
                    hasKeys={false}
                    label={`Feedback on answer ${index + 1}`}
                  />
                ))}
            </aside>
          </div>
        )}
      </Shown>
    </View>
  );
}

function Turns({ chat }: { readonly chat: RecordedCompletion }) {
  const asked =
    chat.prompt_text === null ? (chat.messages ?? []) : [{ role: "prompt", content: chat.prompt_text }];
  const [branch] = branchesOf({ messages_and_choices: [...asked, ...chat.choices], tools: chat.tools });
  const { turns, toolNames } = branch ?? { turns: [], toolNames: [] };
  return (
    <div>
      {!chat.is_whole && (
        <p class="warning">
          This conversation was too large to be recorded completely: its messages and tokens are not stored.
        </p>
      )}
      {chat.has_logprobs && chat.is_whole && <LevelLegend />}
      <h2 class="hidden">Messages</h2>
      <TurnList turns={turns} toolNames={toolNames} />
      <RawJson value={chat} />
    </div>
  );
}

/** Returns how long the answer and its first token took, with the mean speed of its tokens. */
function latencyText({
  started_at: startedAt,
  ended_at: endedAt,
  first_token_ms: firstMs,
  usage,
}: RecordedCompletion): string {
  const seconds = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  if (seconds <= 0) return "under 1 ms";
  const first = firstMs === null ? "" : `, first token after ${shortNumber(firstMs / 1000)} s`;
  return `${shortNumber(seconds)} s${first}, ${shortNumber(usage.completion_tokens / seconds)} tokens/s`;
}

function About({ chat }: { readonly chat: RecordedCompletion }) {
  const { usage, sampling, metadata } = chat;
  return (
    <section aria-labelledby="about">
      <h2 id="about">{chat.model}</h2>
      <Facts
        of={[
          [
            "version",
            may("readModels") ? <a href={addressOf("models", [chat.model_id])}>{chat.step}</a> : chat.step,
          ],
          ["project", chat.project_id],
          ["requested by", chat.owner],
          ["answered", <When at={chat.ended_at} />],
          ["duration", latencyText(chat)],
          ["tokens", `${usage.prompt_tokens} in the prompt, ${usage.completion_tokens} in the answer`],
          ["temperature", sampling === null ? "–" : String(sampling.temperature)],
          ["request", chat.request_id],
        ]}
      />
      {Object.keys(metadata).length > 0 && (
        <details>
          <summary>Metadata</summary>
          <div class="said code">{JSON.stringify(metadata, null, 2)}</div>
        </details>
      )}
    </section>
  );
}
