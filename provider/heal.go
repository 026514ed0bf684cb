package provider

func (m *Model) heal(j *job)    {}
func (m *Model) options(j *job) {}
