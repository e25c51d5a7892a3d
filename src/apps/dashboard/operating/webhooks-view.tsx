// View of the webhooks: their receivers and state, the deliveries of one, and a form that creates one.
import { useState } from "preact/hooks";
import type { Webhook } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Empty } from "../components/empty.tsx";
import { Icon } from "../components/icon.tsx";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { State, View, When } from "../components/shown.tsx";
import { Secret } from "../keys/secret.tsx";
import { summary } from "../live.ts";
import { addressOf, place } from "../router.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { Deliveries } from "./deliveries.tsx";
import { NewWebhook } from "./new-webhook.tsx";
import { WebhookActions } from "./webhook-actions.tsx";

const limit = 50;
const everyMs = 15_000;

export function WebhooksView({ hone }: { readonly hone: Hone }) {
  const { query, parts } = place.value;
  const after = query.get("after") ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(await hone.webhooks.list({ limit, ...(after !== "" && { after }) }, { signal }).first()),
    [hone, after],
    everyMs,
  );
  const [open, setOpen] = useState<"new" | { readonly secret: string } | null>(null);
  const close = (): void => {
    setOpen(null);
    loaded.reload();
  };
  const [shown] = parts;
  return (
    <View
      title="Webhooks"
      lead="Receivers of signed events about feedback and training jobs."
      actions={
        may("manageWebhooks") &&
        !isForbidden() && (
          <button type="button" class="primary" onClick={() => setOpen("new")}>
            <Icon of="plus" /> New webhook
          </button>
        )
      }
    >
      {isForbidden() && loaded.value?.rows.length !== 0 && (
        <p class="warning" role="status">
          This server sends no webhooks, because it was started without the flag{" "}
          <code>--webhooks-allowed</code>.
        </p>
      )}
      <PagedTable
        loaded={loaded}
        label="Webhooks"
        columns={["receiver", "events", "state", { number: "pending" }, "created", ""]}
        none={() => <NoWebhooks />}
        first={after === "" ? null : addressOf("webhooks")}
        nextOf={(last) => addressOf("webhooks", [], { after: last })}
      >
        {(webhook) => (
          <tr key={webhook.id}>
            <td class="model-name">
              <a href={addressOf("webhooks", [webhook.id])} data-row>
                {webhook.url}
              </a>
              {webhook.description !== null && <small class="progress">{webhook.description}</small>}
            </td>
            <td class="tags">
              {webhook.events.map((event) => (
                <span key={event} class="tag">
                  {event}
                </span>
              ))}
            </td>
            <td class="how-far">
              <State of={stateOf(webhook)} />
              <Trouble of={webhook} />
            </td>
            <td class="number">{webhook.pending.toLocaleString("en")}</td>
            <td>
              <When at={webhook.created_at} />
            </td>
            <td>
              {may("manageWebhooks") && (
                <WebhookActions hone={hone} webhook={webhook} onChange={loaded.reload} />
              )}
            </td>
          </tr>
        )}
      </PagedTable>
      {shown !== undefined && (
        <Deliveries
          key={shown}
          hone={hone}
          webhookId={shown}
          isEnabled={loaded.value?.rows.find(({ id }) => id === shown)?.enabled ?? true}
        />
      )}
      {open === "new" && <NewWebhook hone={hone} onClose={close} onMade={(secret) => setOpen({ secret })} />}
      {open !== null && open !== "new" && <Secret of="webhook" secret={open.secret} onClose={close} />}
    </View>
  );
}

function stateOf({ enabled, failing_since: since }: Webhook): string {
  if (!enabled) return "disabled";
  return since === null ? "enabled" : "failing";
}

function NoWebhooks() {
  return isForbidden() ? (
    <Empty
      icon="webhook"
      title="This server sends no webhooks"
      commands={["npx hone serve --webhooks-allowed hooks.example.com"]}
    >
      Its operator has allowed no receivers. Start the server with this flag and the hosts of the receivers.
    </Empty>
  ) : (
    <Empty icon="webhook" title="No webhooks yet" />
  );
}

/** True if the server has said that it sends no webhooks. */
function isForbidden(): boolean {
  return summary.value?.webhooks_allowed === false;
}

function Trouble({ of: { disabled_reason: reason, failing_since: since } }: { readonly of: Webhook }) {
  if (reason !== null) return <small class="progress">{reason}</small>;
  if (since === null) return null;
  return (
    <small class="progress failure">
      since <When at={since} />
    </small>
  );
}
