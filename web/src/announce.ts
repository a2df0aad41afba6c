// What changed on the screen is said to screen readers through one live region.
let region: HTMLElement | null = null;

export function announce(text: string): void {
  if (!region) {
    region = document.createElement("div");
    region.className = "unseen";
    region.id = "live";
    region.setAttribute("role", "status");
    region.setAttribute("aria-live", "polite");
    document.body.append(region);
  }
  region.textContent = text;
}
