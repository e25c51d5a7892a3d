// The conversation of an item of an annotation queue: its messages and answers.
import type { HeldItem } from "../../client/annotating/annotation-session.ts";

export function QueueItem({ held: { item, content } }: { readonly held: HeldItem }) {
  if (content === null)
    return (
      <p>
        <code>{item.vendor_ref}</code> was not recorded by this server: judge it where it is stored.
      </p>
    );
  return (
    <div>
      <h2 class="hidden">Conversation</h2>
      {content.messages.map(({ role, text }, index) => (
        <article key={index} class="turn" aria-label={role}>
          <h3>{role}</h3>
          <div class="said" dir="auto">
            {text}
          </div>
        </article>
      ))}
      {content.answers.map(({ text, reasoning, calls }, index) => (
        <article key={`answer ${index}`} class="turn reply" aria-label={`Answer ${index + 1}`}>
          <h3>{content.answers.length === 1 ? "answer" : `answer ${index + 1}`}</h3>
          {reasoning !== "" && (
            <details>
              <summary>Thoughts</summary>
              <div class="said" dir="auto">
                {reasoning}
              </div>
            </details>
          )}
          {text !== "" && (
            <div class="said" dir="auto">
              {text}
            </div>
          )}
          {calls.map((call, place) => (
            <div key={place} class="said code">
              {call.name}({call.arguments})
            </div>
          ))}
        </article>
      ))}
    </div>
  );
}
