// Table of all keys of the server, newest first, page by page, with actions on each. Only administrators see it.
import { useState } from "preact/hooks";
import type { Key } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { Icon } from "../components/icon.tsx";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { State, When } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { ChangeKey } from "./change-key.tsx";
import { keyText, keyTitle } from "./key-title.ts";
import { NewKey } from "./new-key.tsx";
import { Secret } from "./secret.tsx";

const limit = 30;
const everyMs = 30_000;
const name = "keys_after";

/** Beginning of the ids of keys that a server created when it started. The server does not rotate these keys. */
const firstKeyPrefix = "first-";
const firstKeyTitle =
  "The server made this key when it started. To replace it, give HONE_API_KEY another value and restart the server, or make another admin key and revoke this one.";

/** Dialog that is open over the list. */
type Open = "new" | { readonly changed: Key } | { readonly secret: string } | null;

export function KeyList({ hone }: { readonly hone: Hone }) {
  const after = place.value.query.get(name) ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(await hone.keys.list({ limit, ...(after !== "" && { after }) }, { signal }).first()),
    [hone, after],
    everyMs,
  );
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => {
    setOpen(null);
    loaded.reload();
  };
  return (
    <section>
      <div class="section-head">
        <h2>Keys</h2>
        {may("administer") && (
          <button type="button" class="primary" onClick={() => setOpen("new")}>
            <Icon of="plus" /> New key
          </button>
        )}
      </div>
      <PagedTable
        loaded={loaded}
        label="Keys"
        columns={["name", "owner", "access", "limits", "last used", "state", ""]}
        none={() => "No keys."}
        first={after === "" ? null : addressOf("usage")}
        nextOf={(last) => addressOf("usage", [], { [name]: last })}
      >
        {(key) => (
          <tr key={key.id}>
            <td title={key.id}>
              {key.name !== null && <small class="path">{keyText(key.id)}</small>}
              <strong>{keyTitle(key)}</strong>
            </td>
            <td>
              <small class="path">{key.role === "admin" ? "all entities" : key.entity}</small>
              {key.owner}
            </td>
            <td>{accessOf(key)}</td>
            <td class="brief">{limitsOf(key)}</td>
            <td>
              <When at={key.last_used_at} />
            </td>
            <td>
              <KeyState of={key} />
            </td>
            <td>
              <KeyActions hone={hone} subject={key} onOpen={setOpen} onChange={loaded.reload} />
            </td>
          </tr>
        )}
      </PagedTable>
      {open === "new" && <NewKey hone={hone} onClose={close} onMade={(secret) => setOpen({ secret })} />}
      {open !== null && typeof open === "object" && "changed" in open && (
        <ChangeKey hone={hone} subject={open.changed} onClose={close} />
      )}
      {open !== null && typeof open === "object" && "secret" in open && (
        <Secret of="key" secret={open.secret} onClose={close} />
      )}
    </section>
  );
}

function KeyActions({
  hone,
  subject,
  onOpen,
  onChange,
}: {
  readonly hone: Hone;
  readonly subject: Key;
  readonly onOpen: (open: Open) => void;
  readonly onChange: () => void;
}) {
  if (subject.revoked_at !== null || !may("administer")) return null;
  const title = keyTitle(subject);
  const isFirst = subject.id.startsWith(firstKeyPrefix);
  const rotate = async (): Promise<void> => {
    onOpen({ secret: (await hone.keys.rotate(subject.id, {})).key });
  };
  return (
    <div class="row-actions">
      <button
        type="button"
        class="plain"
        aria-label={`Change the limits of ${title}`}
        onClick={() => onOpen({ changed: subject })}
      >
        Limits
      </button>
      <ActionButton
        class="plain"
        isOff={isFirst}
        title={isFirst ? firstKeyTitle : undefined}
        label={`Rotate ${title}`}
        asks={{
          title: `Give ${title} a new secret?`,
          says: "The old secret stays valid for one day.",
          button: "Make a new secret",
        }}
        act={rotate}
      >
        Rotate
      </ActionButton>
      <ActionButton
        class="plain danger"
        label={`Revoke ${title}`}
        asks={{
          title: `Revoke ${title}?`,
          says: "The server refuses the key from now on, and ends its running requests. You cannot undo this.",
          button: "Revoke the key",
        }}
        act={() => hone.keys.revoke(subject.id).then(onChange)}
        done={`${title} revoked.`}
      >
        Revoke
      </ActionButton>
    </div>
  );
}

function KeyState({ of: { revoked_at: revokedAt, expires_at: expiresAt } }: { readonly of: Key }) {
  if (revokedAt !== null) return <State of="revoked" />;
  if (expiresAt === null) return <State of="active" />;
  return (
    <>
      <State of="active" says="expires" /> <When at={expiresAt} />
    </>
  );
}

function accessOf({ role, scopes, project }: Key): string {
  const what = role === "admin" ? "admin" : scopes === null ? "everything" : scopes.join(", ");
  return project === null ? what : `${what}; only ${project}`;
}

function limitsOf(key: Key): string {
  const limits = [
    [key.requests_per_minute, "requests/min"],
    [key.tokens_per_minute, "tokens/min"],
    [key.concurrent_requests, "at once"],
    [key.queue_percent, "% of the queue"],
    [key.queued_jobs, "queued jobs"],
  ] as const;
  const set = limits.filter(([value]) => value !== null);
  return set.length === 0 ? "none" : set.map(([value, unit]) => `${value} ${unit}`).join(", ");
}
