// Newest deliveries of a webhook, with their last and next attempts, and a button that sends one again.
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { PagedTable } from "../components/paged-table.tsx";
import { State, When } from "../components/shown.tsx";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { attemptText } from "./attempt-text.ts";

const limit = 20;
const everyMs = 10_000;
const pendingTitle = "The server is still trying to send this delivery.";
const disabledTitle = "The webhook is disabled. Enable it to send this delivery again.";
/** State in whose colour a delivery is shown. */
const tones = { pending: "running", delivered: "ok", failed: "failed" } as const;

/**
 * @param isEnabled false if the webhook is disabled. The server then sends no deliveries.
 */
export function Deliveries({
  hone,
  webhookId,
  isEnabled,
}: {
  readonly hone: Hone;
  readonly webhookId: string;
  readonly isEnabled: boolean;
}) {
  const loaded = useLoaded(
    async (signal) => ({
      rows: (await hone.webhooks.deliveries(webhookId, { limit }, { signal }).first()).data,
      last: null,
    }),
    [hone, webhookId],
    everyMs,
  );
  const replay = async (id: string): Promise<void> => {
    await hone.webhooks.replay(webhookId, { delivery_id: id });
    loaded.reload();
  };
  return (
    <section>
      <h2>Newest deliveries</h2>
      <PagedTable
        loaded={loaded}
        label="Deliveries"
        columns={["event", "state", { number: "attempts" }, "last attempt", "created", ""]}
        none={() => "No deliveries yet."}
        first={null}
        nextOf={() => ""}
      >
        {(delivery) => (
          <tr key={delivery.id}>
            <td>{delivery.type}</td>
            <td>
              <State of={tones[delivery.state]} says={delivery.state} />
            </td>
            <td class="number">{delivery.attempt_count}</td>
            <td class="how-far">
              {attemptText(delivery)}
              {delivery.next_attempt_at !== null && (
                <small class="progress">
                  next try <When at={delivery.next_attempt_at} />
                </small>
              )}
            </td>
            <td>
              <When at={delivery.created_at} />
            </td>
            <td>
              {may("manageWebhooks") && (
                <ActionButton
                  class="plain"
                  isOff={delivery.state === "pending" || !isEnabled}
                  title={!isEnabled ? disabledTitle : delivery.state === "pending" ? pendingTitle : undefined}
                  act={() => replay(delivery.id)}
                  done="The server sends the delivery again."
                >
                  Send again
                </ActionButton>
              )}
            </td>
          </tr>
        )}
      </PagedTable>
    </section>
  );
}
