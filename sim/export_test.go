package sim

// VendorRules are the rules that strict servers enforce.
func VendorRules() []vendorRule { return vendorRules }
