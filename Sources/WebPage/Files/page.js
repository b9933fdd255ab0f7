'use strict';

// Shows what the server tells of the transfers. Text from servers only ever becomes text: no markup is made of it.

const transfers = new Map();
const cards = new Map();
const rates = [];
const plotSeconds = 120;
const element = (id) => document.getElementById(id);
let serviceRuns = false;
let abilities = {};
let limits = [];

// MARK: Words

function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number) => String(number).padStart(2, '0');
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

const stateWords = {
  running: 'running', waiting: 'waiting', suspended: 'held by its app', completed: 'finishing', saved: 'saved',
  savedElsewhere: 'saved elsewhere', httpError: 'refused by the server', failed: 'failed', cancelled: 'cancelled',
};

function isPaused(transfer) {
  return !transfer.outcome && Boolean(transfer.waiting) && transfer.waiting.code === 'pausedByUser';
}

// It ran at several crashes of the service, and goes on when it is resumed.
function isSetAside(transfer) {
  return !transfer.outcome && Boolean(transfer.waiting) && transfer.waiting.code === 'setAside';
}

function kindOf(transfer) {
  if (isPaused(transfer) || isSetAside(transfer)) return 'suspended';
  if (!transfer.outcome) return serviceRuns ? transfer.state : 'waiting';
  if (transfer.outcome === 'saved' || transfer.outcome === 'savedElsewhere') return 'saved';
  return transfer.outcome === 'cancelled' ? 'cancelled' : 'failed';
}

function stateOf(transfer) {
  if (transfer.outcome === 'saved' && transfer.kind === 'upload') return 'sent';
  if (!transfer.outcome && !serviceRuns) return 'stopped';
  if (isSetAside(transfer)) return 'set aside';
  return isPaused(transfer) ? 'paused' : stateWords[transfer.outcome || transfer.state] || transfer.outcome || transfer.state;
}

function limitText(limit) {
  const rate = limit.bytesPerSecond ? `${bytes(limit.bytesPerSecond)}/s` : 'no limit';
  return limit.between ? `${rate} from ${limit.between.replace('-', ' to ')}` : rate;
}

// Those of all transfers are above.
function limitsOf(transfer) {
  const names = { transfer: 'this transfer', session: 'its session', app: 'its program' };
  const own = transfer.outcome ? [] : transfer.limits.filter((limit) => limit.scope !== 'service');
  return own.length ? `Limit: ${own.map((limit) => `${names[limit.scope] || limit.scope} ${limitText(limit)}`).join(', ')}` : '';
}

function reasonOf(transfer) {
  if (!transfer.outcome && !serviceRuns) return 'It goes on when the transfer service runs.';
  if (transfer.error && transfer.outcome && transfer.outcome !== 'cancelled') return transfer.error.message;
  if (transfer.outcome === 'httpError') return `The server answered with the status ${transfer.httpStatus}.`;
  if (isSetAside(transfer)) return transfer.waiting.sentence;
  if (transfer.outcome || isPaused(transfer) || transfer.state !== 'waiting' || !transfer.waiting) return '';
  const next = transfer.waiting.nextAttempt && (Date.parse(transfer.waiting.nextAttempt) - Date.now()) / 1000;
  return transfer.waiting.sentence + (next > 0 ? ` ${nextWords(transfer.waiting.code)} in ${duration(next)}.` : '');
}

// It has not begun, or its turn depends on more than a try.
function nextWords(code) {
  if (code === 'earliestBegin') return 'It begins';
  return code.startsWith('discretionary.') || code === 'conditionsUnknown' ? 'Looked at again' : 'Again';
}

// MARK: Rates

function received(transfer, now) {
  const before = transfers.get(transfer.transfer);
  const samples = before ? before.samples : [];
  if (!before || before.received !== transfer.received) samples.push({ at: now, received: transfer.received });
  while (samples.length > 2 && now - samples[0].at > 5000) samples.shift();
  return samples;
}

function rateOf(transfer, now) {
  if (!serviceRuns || transfer.state !== 'running' || transfer.outcome || transfer.samples.length < 2) return 0;
  const [first, last] = [transfer.samples[0], transfer.samples[transfer.samples.length - 1]];
  // It stands still.
  if (now - last.at > 5000) return 0;
  const seconds = (Math.max(now - 500, last.at) - first.at) / 1000;
  return seconds > 0 ? Math.max(0, (last.received - first.received) / seconds) : 0;
}

function drawRate() {
  const now = performance.now();
  let total = 0;
  for (const transfer of transfers.values()) total += rateOf(transfer, now);
  rates.push(total);
  if (rates.length > plotSeconds) rates.shift();
  const peak = Math.max(...rates, 1);
  const x = (index) => ((index + plotSeconds - rates.length) / (plotSeconds - 1)) * 600;
  const y = (rate) => 118 - (rate / peak) * 112;
  const points = rates.map((rate, index) => `${x(index).toFixed(1)},${y(rate).toFixed(1)}`).join(' L');
  element('line').setAttribute('d', `M${points}`);
  element('area').setAttribute('d', `M${x(0).toFixed(1)},120 L${points} L600,120 Z`);
  element('rate').textContent = `${bytes(total)}/s`;
  element('peak').textContent = `up to ${bytes(Math.max(...rates))}/s`;
  element('plot').setAttribute(
    'aria-label', `Rate over the last two minutes: ${bytes(total)} a second now, ${bytes(Math.max(...rates))} at most`);
}

// MARK: Cards

function makeCard(number) {
  const card = element('transfer').content.firstElementChild.cloneNode(true);
  card.dataset.transfer = number;
  for (const button of card.querySelectorAll('[data-action]')) {
    button.addEventListener('click', () => {
      ask(card, false);
      act(card, `transfers/${number}/${button.dataset.action}`, {});
    });
  }
  card.querySelector('[data-step=ask]').addEventListener('click', () => ask(card, true));
  card.querySelector('[data-step=keep]').addEventListener('click', () => ask(card, false));
  card.querySelector('.question').addEventListener('keydown', (event) => {
    if (event.key === 'Escape') ask(card, false);
  });
  const form = card.querySelector('form.limit');
  const limit = async (rate) => {
    if (await act(card, `transfers/${number}/limit`, { bytesPerSecond: rate })) askLimit(card, false);
  };
  card.querySelector('[data-step=limit]').addEventListener('click', () => askLimit(card, form.hidden));
  card.querySelector('[data-step=leave]').addEventListener('click', () => askLimit(card, false));
  card.querySelector('[data-step=unlimit]').addEventListener('click', () => limit(null));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    limit(Math.round(Number(form.querySelector('input').value) * 1024));
  });
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') askLimit(card, false);
  });
  card.querySelector('details').addEventListener('toggle', () => loadTries(number));
  cards.set(number, card);
  return card;
}

// Cancelling can't be undone. The focus goes along.
function ask(card, asks) {
  const [question, button] = [card.querySelector('.question'), card.querySelector('[data-step=ask]')];
  if (question.hidden !== asks) return;
  const hadFocus = question.contains(document.activeElement) || button === document.activeElement;
  question.hidden = !asks;
  button.hidden = asks;
  if (hadFocus) (asks ? card.querySelector('[data-step=keep]') : button).focus();
}

function askLimit(card, asks) {
  const [form, button] = [card.querySelector('form.limit'), card.querySelector('[data-step=limit]')];
  if (form.hidden !== asks) return;
  const hadFocus = form.contains(document.activeElement) || button === document.activeElement;
  form.hidden = !asks;
  button.setAttribute('aria-expanded', asks);
  if (hadFocus) (asks ? form.querySelector('input') : button).focus();
}

// Only what differs is written: a reader that speaks the page aloud, and the focus, stay where they are.
function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function draw(transfer) {
  const card = cards.get(transfer.transfer) || makeCard(transfer.transfer);
  const focused = card.contains(document.activeElement) ? document.activeElement : null;
  const list = transfer.outcome ? element('over') : element('open');
  if (card.parentNode !== list) {
    const next = [...list.children].find((other) => Number(other.dataset.transfer) < transfer.transfer);
    list.insertBefore(card, next || null);
  }
  const part = (name) => card.querySelector(name);
  const label = `${transfer.name}, transfer ${transfer.transfer}`;
  card.dataset.kind = kindOf(transfer);
  put(part('h3'), `${transfer.transfer}: ${transfer.name}`);
  put(part('.url'), transfer.url);
  put(part('.state'), stateOf(transfer));
  put(part('.reason'), reasonOf(transfer));
  put(part('.limits'), limitsOf(transfer));
  const progress = part('progress');
  progress.hidden = Boolean(transfer.outcome);
  progress.setAttribute('aria-label', `Progress of ${label}`);
  if (transfer.total) progress.value = Math.min(1, transfer.received / transfer.total);
  else if (transfer.total === 0 || transfer.state !== 'running') progress.value = 0;
  else progress.removeAttribute('value');
  const amount = bytes(transfer.received) + (transfer.total && !transfer.outcome ? ` of ${bytes(transfer.total)}` : '');
  put(part('.bytes'), transfer.kind === 'upload' ? `${amount} sent` : amount);
  put(part('.loss'), transfer.kind === 'upload' ? 'The upload ends.' : 'What has arrived is thrown away.');
  const rate = rateOf(transfer, performance.now());
  const rest = rate > 0 && transfer.total ? `, ${duration((transfer.total - transfer.received) / rate)} left` : '';
  put(part('.left'), rate > 0 ? `${bytes(rate)}/s${rest}` : '');
  part('.buttons').hidden = Boolean(transfer.outcome) || transfer.state === 'completed' || !serviceRuns;
  const shown = {
    pause: abilities.pauses && !isPaused(transfer) && !isSetAside(transfer),
    resume: abilities.pauses && (isPaused(transfer) || isSetAside(transfer)),
    // Its app says when it begins.
    retry: transfer.state === 'waiting' && Boolean(transfer.waiting && transfer.waiting.nextAttempt)
      && transfer.waiting.code !== 'earliestBegin',
    cancel: true,
  };
  for (const button of card.querySelectorAll('button')) {
    if (button.dataset.action) button.hidden = !shown[button.dataset.action];
    button.setAttribute('aria-label', `${button.textContent} ${label}`);
  }
  part('[data-step=limit]').hidden = !abilities.limits;
  part('form.limit input').setAttribute('aria-label', `Limit of ${label} in KiB/s`);
  if (focused) keepFocus(card, focused);
}

// A card that moves, and a button that goes, lose the focus. It then is at what is left of the card.
function keepFocus(card, focused) {
  if (document.activeElement === focused && focused.offsetParent) return;
  const places = [focused, ...card.querySelectorAll('button, summary')];
  const place = places.find((one) => one.offsetParent);
  if (place) place.focus();
}

function drawSummary() {
  const open = [...transfers.values()].filter((transfer) => !transfer.outcome);
  const running = open.filter((transfer) => transfer.state === 'running').length;
  put(element('summary'), serviceRuns
    ? `${running} running, ${open.length - running} waiting or paused`
    : 'The transfer service does not run. It starts with the first transfer.');
  document.title = serviceRuns && running ? `${running} running – Transfers` : 'Transfers';
  element('limit').hidden = !abilities.limits || !serviceRuns;
  put(element('limits'), limits.length ? `Now: ${limits.map(limitText).join(', ')}.` : 'There is no limit.');
  element('limit-remove').disabled = !limits.length;
}

// MARK: Requests of a transfer

function svg(name, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function shortTime(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds >= 10 ? duration(seconds) : `${seconds.toFixed(2)} s`;
}

async function loadTries(number) {
  const card = cards.get(number);
  if (!card || !card.querySelector('details').open) return;
  let tries;
  try {
    const answer = await fetch(`transfers/${number}/tries`);
    if (!answer.ok) return;
    tries = (await answer.json()).tries;
  } catch {
    // The summary tells that the server has ended.
    return;
  }
  const begin = Math.min(...tries.map((one) => one.began));
  const ends = tries.map((one) => (one.began - begin) / 1000 + one.duration);
  const whole = Math.max(...ends, 0.001);
  card.querySelector('.whole').textContent = whole >= 10 ? duration(whole) : `${whole.toFixed(2)} s`;
  card.querySelector('.tries').replaceChildren(...tries.map((one, index) => {
    const item = document.createElement('li');
    const at = (one.began - begin) / 1000;
    const first = one.responseAfter === null ? one.duration : one.responseAfter;
    const bar = svg('svg', { viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    const scale = (seconds) => (seconds / whole) * 1000;
    // A short one is seen, too.
    const part = (kind, begin, length, y, height) => svg('rect', {
      class: kind, x: Math.min(996, scale(begin)), y, width: Math.max(4, scale(length)), height,
    });
    const phases = one.phases || [];
    if (phases.length) {
      const known = ['lookup', 'connect', 'tls', 'request', 'wait'];
      for (const phase of phases) {
        if (phase.name === 'response') bar.append(part('body', at + phase.at, phase.duration, 0, 10));
        else if (known.includes(phase.name)) bar.append(part(phase.name, at + phase.at, phase.duration, 3, 4));
      }
      // One that broke off has no end.
      const last = Math.max(...phases.map((phase) => phase.at + phase.duration));
      const hasBody = phases.some((phase) => phase.name === 'response');
      if (!hasBody && (one.responseAfter !== null || one.failed)) {
        bar.append(part('body', at + last, Math.max(0, one.duration - last), 0, 10));
      }
    } else {
      bar.append(part('wait', at, first, 3, 4));
      if (one.responseAfter !== null || one.failed) bar.append(part('body', at + first, one.duration - first, 0, 10));
    }
    item.classList.toggle('failed', Boolean(one.failed));
    const text = document.createElement('p');
    text.className = 'small';
    text.textContent = [
      `${index + 1}. ${new Date(one.began).toLocaleTimeString()}`,
      one.status ? `status ${one.status}` : 'no response',
      one.offset > 0 ? `from ${bytes(one.offset)}` : '',
      Number.isFinite(one.sent) ? `${bytes(one.sent)} sent` : bytes(one.received),
      one.duration >= 10 ? duration(one.duration) : `${one.duration.toFixed(2)} s`, one.end || '',
    ].filter(Boolean).join(', ');
    const times = document.createElement('p');
    times.className = 'small phases';
    times.textContent = phases.map((phase) => `${phase.name === 'tls' ? 'TLS' : phase.name} ${shortTime(phase.duration)}`)
      .join(', ');
    item.append(text, bar, times);
    return item;
  }));
}

// MARK: The server

// A problem is told beside the control that was used. Returns whether there was none.
async function act(place, path, body) {
  const problem = place.querySelector('.problem');
  put(problem, '');
  try {
    const answer = await fetch(path, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
    });
    if (!answer.ok) put(problem, (await answer.json()).error);
    return answer.ok;
  } catch {
    put(problem, 'The server of this page does not answer: it has ended.');
    return false;
  }
}

function take(transfer) {
  const now = performance.now();
  const before = transfers.get(transfer.transfer);
  transfer.samples = received(transfer, now);
  transfers.set(transfer.transfer, transfer);
  draw(transfer);
  if (before && before.state !== transfer.state) loadTries(transfer.transfer);
}

function remove(number) {
  transfers.delete(number);
  if (cards.has(number)) cards.get(number).remove();
  cards.delete(number);
}

function takeAll(snapshot) {
  serviceRuns = snapshot.serviceRuns;
  abilities = snapshot.abilities;
  limits = snapshot.limits;
  const present = new Set(snapshot.transfers.map((transfer) => transfer.transfer));
  for (const number of [...transfers.keys()]) if (!present.has(number)) remove(number);
  snapshot.transfers.forEach(take);
  drawSummary();
}

function listen() {
  const changes = new EventSource('changes');
  changes.addEventListener('snapshot', (event) => takeAll(JSON.parse(event.data)));
  changes.addEventListener('transfer', (event) => {
    take(JSON.parse(event.data));
    drawSummary();
  });
  changes.addEventListener('removed', (event) => JSON.parse(event.data).transfers.forEach(remove));
  changes.onerror = () => {
    put(element('summary'), 'The server of this page does not answer.');
    // The browser connects again by itself, unless the server refused.
    if (changes.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
  };
}

element('limit').addEventListener('submit', (event) => {
  event.preventDefault();
  act(event.target, 'limit', { bytesPerSecond: Math.round(Number(element('limit-value').value) * 1024) });
});
element('limit-remove').addEventListener('click', () => act(element('limit'), 'limit', { bytesPerSecond: null }));

setInterval(() => {
  drawRate();
  for (const transfer of transfers.values()) {
    if (transfer.outcome) continue;
    draw(transfer);
    if (transfer.state === 'running') loadTries(transfer.transfer);
  }
}, 1000);
listen();
