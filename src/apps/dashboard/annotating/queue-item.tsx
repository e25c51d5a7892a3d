// The conversation of an item of an annotation queue: its messages and answers.
import type { HeldItem } from "../../client/annotating/annotation-session.ts";
import { Alternatives } from "../reading/alternatives.tsx";
import { MessageText, Thoughts } from "../reading/message-text.tsx";
import { ReadingSwitch } from "../reading/reading-switch.tsx";

type Answer = NonNullable<HeldItem["content"]>["answers"][number];

export function QueueItem({ held: { item, content } }: { readonly held: HeldItem }) {
  if (content === null)
    return (
      <p>
        <code>{item.vendor_ref}</code> was not recorded by this server: judge it where it is stored.
      </p>
    );
  const { messages, answers } = content;
  return (
    <div>
      <ReadingSwitch />
      <h2 class="hidden">Conversation</h2>
      {messages.map(({ role, text }, index) => (
        <article key={index} class="turn" aria-label={role}>
          <h3>{role}</h3>
          <MessageText text={text} />
        </article>
      ))}
      {answers.length > 1 ? (
        <Alternatives answers={answers} title="answer">
          {(answer) => <AnswerView answer={answer} />}
        </Alternatives>
      ) : (
        answers.map((answer) => (
          <article key="answer" class="turn reply" aria-label="Answer">
            <h3>answer</h3>
            <AnswerView answer={answer} />
          </article>
        ))
      )}
    </div>
  );
}

function AnswerView({ answer: { text, reasoning, calls } }: { readonly answer: Answer }) {
  return (
    <>
      {reasoning !== "" && <Thoughts text={reasoning} />}
      {text !== "" && <MessageText text={text} />}
      {calls.map((call, place) => (
        <div key={place} class="said code">
          {call.name}({call.arguments})
        </div>
      ))}
    </>
  );
}
