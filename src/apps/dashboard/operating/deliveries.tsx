// Newest deliveries of a webhook, with their last attempt, and a button that sends one again.
import type { WebhookDelivery } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { PagedTable } from "../components/paged-table.tsx";
import { State, When } from "../components/shown.tsx";
import { useAction } from "../components/forms/use-action.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";

const limit = 20;
const everyMs = 10_000;
const pendingTitle = "The server is still trying to send this delivery.";
/** State in whose colour a delivery is shown. */
const tones = { pending: "running", delivered: "ok", failed: "failed" } as const;

export function Deliveries({ hone, webhookId }: { readonly hone: Hone; readonly webhookId: string }) {
  const loaded = useLoaded(
    async (signal) => ({
      rows: (await hone.webhooks.deliveries(webhookId, { limit }, { signal }).first()).data,
      last: null,
    }),
    [hone, webhookId],
    everyMs,
  );
  const { isBusy, failure, run } = useAction();
  const replay = async (id: string): Promise<void> => {
    await hone.webhooks.replay(webhookId, { delivery_id: id });
    loaded.reload();
  };
  return (
    <section>
      <h2>Newest deliveries</h2>
      <Failure of={failure} />
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
            <td class="how-far">{attemptText(delivery)}</td>
            <td>
              <When at={delivery.created_at} />
            </td>
            <td>
              {may("manageWebhooks") && (
                <button
                  type="button"
                  class="plain"
                  disabled={isBusy || delivery.state === "pending"}
                  title={delivery.state === "pending" ? pendingTitle : undefined}
                  onClick={() => run(() => replay(delivery.id))}
                >
                  Send again
                </button>
              )}
            </td>
          </tr>
        )}
      </PagedTable>
    </section>
  );
}

function attemptText({ attempts }: WebhookDelivery): string {
  const last = attempts.at(-1);
  if (last === undefined) return "–";
  const error = last.error === null ? "" : `: ${last.error}`;
  return `${last.status ?? "no answer"} after ${last.duration_ms} ms${error}`;
}
