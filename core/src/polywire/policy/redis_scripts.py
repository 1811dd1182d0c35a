"""
What Redis does for a shared limit, each step atomic there.

Time is the server's own, so that machines need not agree on theirs. The arithmetic of rates is the limiter library's own
script, wrapped into a function; the queue of processes and the leases are ours.

Keys (all with the hash tag of one connection, so that they live on one node of a cluster):

    requests, tokens   the library's hashes: `tat1`; `refunded` beside it is ours
    leases             sorted set: running calls, by the time at which the store takes their permit back
    queue              sorted set: processes that wait, in the order in which they came; each grant goes to the first, and
                       then that process joins again at the end, so that none starves
    seen               hash: until when each waiting process counts as alive
    pause              until when the provider wants no call
"""

from __future__ import annotations

__all__ = ["acquire_script", "pause_script", "release_script", "renew_script"]

_EPOCH = 1_735_689_600  # 2025-01-01: keeps thousandths of a tick inside the whole numbers of a double until 2053

_HEAD = f"""
local time = redis.call('TIME')
local now = (time[1] - {_EPOCH}) * 10000 + math.floor(time[2] / 100)
"""

_GCRA = """
local gcra = function(KEYS, ARGV)
%s
end

-- Take `weight` units: nil, or the ticks to wait. `floor` is how far ahead this process last saw the meter: a store that
-- came back empty must not grant a second burst.
local take = function(key, weight, emission, burst, floor)
    if floor > 0 and redis.call('HEXISTS', key, 'tat1') == 0 then
        redis.call('HSET', key, 'tat1', string.format('%%.0f', now * 1000 + floor))
    end
    local ttl = 3600000 + math.ceil(2 * math.min(burst * emission, 360000000000) / 10000)
    local reply = gcra({key}, {now, weight, ttl, 1, emission, burst})
    if reply[1] < 0 then
        return nil
    end
    return math.max(1, reply[2])
end

local mark = function(key)
    local values = redis.call('HMGET', key, 'tat1', 'refunded')
    return {string.format('%%.0f', tonumber(values[1] or '0')), string.format('%%.0f', tonumber(values[2] or '0'))}
end

-- Let a reservation have been `actual` units; see `Meter.settle`.
local settle = function(key, reserved, actual, tat, refunded, emission, forced)
    if actual > reserved then
        take(key, actual - reserved, emission, forced, 0)
    elseif actual < reserved then
        local so_far = tonumber(redis.call('HGET', key, 'refunded') or '0')
        local ahead = tat - now * 1000 - math.max(0, so_far - refunded)
        local back = math.min((reserved - actual) * emission, ahead)
        if back > 0 then
            local now_at = tonumber(redis.call('HGET', key, 'tat1') or '0')
            redis.call('HSET', key, 'refunded', string.format('%%.0f', so_far + back))
            redis.call('HSET', key, 'tat1', string.format('%%.0f', math.max(0, now_at - back)))
        end
    end
end
"""

_ACQUIRE = """
local process, lease, lease_ticks, patience = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local concurrency, weight = tonumber(ARGV[5]), tonumber(ARGV[6])
local request_emission, request_burst, request_floor = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local token_emission, token_burst, token_floor = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local requests, tokens, leases, queue, seen, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local longest_poll = 1000

local join = function(wait)
    if not redis.call('ZSCORE', queue, process) then
        redis.call('ZADD', queue, redis.call('HINCRBY', seen, '#', 1), process)
    end
    redis.call('HSET', seen, process, now + math.min(wait, 10000) + patience)
    redis.call('PEXPIRE', queue, 3600000)
    redis.call('PEXPIRE', seen, 3600000)
end

local head = redis.call('ZRANGE', queue, 0, 0)[1]
while head and head ~= process and tonumber(redis.call('HGET', seen, head) or '0') < now do
    redis.call('ZREM', queue, head)
    redis.call('HDEL', seen, head)
    head = redis.call('ZRANGE', queue, 0, 0)[1]
end
if head and head ~= process then
    -- Ask again shortly after the one before has been served.
    local due = tonumber(redis.call('HGET', seen, '@due') or '0') - now
    local wait = math.min(longest_poll, math.max(10, due + 10))
    join(wait)
    return {1, 'queue', wait}
end

local wait, limit
local paused = tonumber(redis.call('GET', pause) or '0') - now
if paused > 0 then
    wait, limit = paused, 'pause'
end
if not wait and concurrency > 0 then
    redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
    if redis.call('ZCARD', leases) >= concurrency then
        -- Nothing tells when a call will end; a lease that runs out is known.
        local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
        wait, limit = math.max(1, math.min(200, tonumber(first[2]) - now)), 'concurrency'
    end
end
if not wait and request_emission > 0 then
    wait, limit = take(requests, 1, request_emission, request_burst, request_floor), 'requests per minute'
end
if not wait and token_emission > 0 and weight > 0 then
    wait, limit = take(tokens, weight, token_emission, token_burst, token_floor), 'tokens per minute'
    if wait and request_emission > 0 then
        take(requests, -1, request_emission, request_burst, 0)
    end
end
if wait then
    join(wait)
    redis.call('HSET', seen, '@due', now + wait)
    return {1, limit, wait}
end

redis.call('ZREM', queue, process)
redis.call('HDEL', seen, process)
redis.call('HSET', seen, '@due', now)
if concurrency > 0 then
    redis.call('ZADD', leases, now + lease_ticks, lease)
    redis.call('PEXPIRE', leases, 60000 + math.ceil(lease_ticks / 5))
end
local r, t = mark(requests), mark(tokens)
return {0, string.format('%.0f', now), r[1], r[2], t[1], t[2]}
"""

_RELEASE = """
local leases, requests, tokens = KEYS[1], KEYS[2], KEYS[3]
redis.call('ZREM', leases, ARGV[1])
local number = function(index) return tonumber(ARGV[index]) end
if number(2) >= 0 then
    settle(requests, 1, number(2), number(3), number(4), number(5), number(6))
end
if number(7) >= 0 then
    settle(tokens, number(8), number(7), number(9), number(10), number(11), number(12))
end
"""

_RENEW = (
    _HEAD
    + """
for index = 2, #ARGV do
    redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), ARGV[index])
end
redis.call('PEXPIRE', KEYS[1], 60000 + math.ceil(tonumber(ARGV[1]) / 5))
"""
)

_PAUSE = (
    _HEAD
    + """
local until_then = now + tonumber(ARGV[1])
if tonumber(redis.call('GET', KEYS[1]) or '0') < until_then then
    redis.call('SET', KEYS[1], string.format('%.0f', until_then), 'PX', math.ceil(tonumber(ARGV[1]) / 10) + 1000)
end
"""
)


def acquire_script(arithmetic: str) -> str:
    """Return the script that grants a permit or says how long to wait; `arithmetic` is the library's script."""
    return _HEAD + _GCRA % arithmetic + _ACQUIRE


def release_script(arithmetic: str) -> str:
    """Return the script that takes a permit back and settles what it cost."""
    return _HEAD + _GCRA % arithmetic + _RELEASE


def renew_script() -> str:
    """Return the script that renews leases; one that had run out is taken again, for its call is in fact running."""
    return _RENEW


def pause_script() -> str:
    """Return the script that keeps the provider's pause for all."""
    return _PAUSE
