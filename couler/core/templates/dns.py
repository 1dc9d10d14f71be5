"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.objects import DnsConfig as DnsConfig, DnsConfigOption as DnsConfigOption
