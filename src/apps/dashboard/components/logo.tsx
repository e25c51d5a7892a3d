// Hone's logo: an H whose crossbar is a rising curve.

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
      <rect class="logo-ground" width="24" height="24" rx="6.5" />
      <path class="logo-line" d="M7 6v12M17 6v12M7 13.8c4 0 6-3.6 10-3.6" />
    </svg>
  );
}
